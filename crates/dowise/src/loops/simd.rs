//! SIMD dispatch: loops compiled for the CPU they run on.

/// Runs a loop with the widest registers that this machine has, with the same results on every machine.
///
/// The closure and all that it calls must be inlined to gain from it. Only the width changes: nothing is reordered or fused,
/// so a sum has the same bits whatever the processor.
///
/// # Cost
/// A few nanoseconds more than a plain call: worth it for a hundred numbers and more.
#[inline]
pub(crate) fn wide<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// The same for a loop that is written register by register.
#[inline]
pub(crate) fn wide_registers<W: pulp::WithSimd>(work: W) -> W::Output {
    pulp::Arch::new().dispatch(work)
}

/// Numbers in such a register.
#[inline]
pub(crate) fn lanes() -> usize {
    struct Lanes;
    impl pulp::WithSimd for Lanes {
        type Output = usize;

        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, _: S) -> usize {
            S::F64_LANES
        }
    }
    wide_registers(Lanes)
}
