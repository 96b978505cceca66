"""Writes clinic.csv: invented records of a clinic, in the shape in which a hospital might hand them out.

Semicolons, decimal commas, its own names, measured numbers, and cells that nobody filled in. The doctors' habits and
the truth that made the outcomes are below; the notebook does not look at them.
"""

import random
from pathlib import Path

PATIENTS, VISITS = 800, 4
DOSES, SALTS = ("0 mg", "5 mg", "10 mg"), ("no", "yes")


def pressure_of(draw, severe, dose, reduced):
    """Systolic pressure: the drug and the diet lower it, a severe disease raises it."""
    return draw.gauss(150 + 12 * severe - 11 * dose - 7 * reduced, 11)


def potassium_of(draw, impaired, dose):
    """The drug raises potassium, most of all where kidneys are impaired."""
    return draw.gauss(4.4 + 0.15 * dose + 0.3 * impaired * dose, 0.4)


def main():
    draw = random.Random(15)
    lines = ["patient;visit;date;disease;gfr;drug;salt diet;systolic;potassium mmol/l;wellbeing"]
    for patient in range(1, PATIENTS + 1):
        severe, impaired = draw.random() < 0.4, draw.random() < 0.3
        for visit in range(1, VISITS + 1):
            # Doctors give more to those who are worse, and hardly ever speak of salt.
            weights = (1, 4, 3) if severe else (4, 3, 1)
            dose = draw.choices(range(3), weights)[0]
            reduced = int(draw.random() < 0.25)
            systolic = round(pressure_of(draw, severe, dose, reduced))
            potassium = round(potassium_of(draw, impaired, dose), 1)
            well = 0.9 - 0.25 * (systolic >= 130) - 0.25 * (systolic >= 150) - 0.3 * (potassium >= 5.2)
            well = min(max(draw.gauss(well, 0.08), 0.0), 1.0)
            gfr = draw.gauss(45, 8) if impaired else draw.gauss(85, 10)
            gfr = min(gfr, 59.0) if impaired else max(gfr, 60.0)
            cells = [f"P{patient:04}", str(visit), f"{1 + 28 * (visit % 2):02}.{3 * visit:02}.2024"]
            cells += ["severe" if severe else "mild", f"{gfr:.0f}", DOSES[dose], SALTS[reduced], f"{systolic}"]
            cells += ["n/a" if draw.random() < 0.03 else f"{potassium:.1f}".replace(".", ",")]
            cells += [f"{well:.2f}".replace(".", ",")]
            lines.append(";".join(cells))
            level = (systolic >= 130) + (systolic >= 150)
            severe = draw.random() < (0.55 + 0.15 * level if severe else 0.05 + 0.15 * level)
            impaired = impaired or draw.random() < 0.01 + 0.04 * level + 0.10 * (potassium >= 5.2)
    Path(__file__).with_name("clinic.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
