// Runs a WebAssembly program with node's WASI; its standard output is this one's. Usage: node webassembly.mjs PROGRAM
import { readFile } from 'node:fs/promises';
import { WASI } from 'node:wasi';

const NOT_SUPPORTED = 52; // ENOSYS of WASI: there are no threads, and rayon then does the work itself
const wasi = new WASI({ version: 'preview1', args: ['fingerprints'], env: {} });
const program = await WebAssembly.compile(await readFile(process.argv[2]));
const imports = wasi.getImportObject();
for (const { module, name } of WebAssembly.Module.imports(program)) {
  // What the standard library asks of a newer C library than Debian's, and uses to start threads alone.
  // Attributes of a thread can be made; a thread cannot.
  const answer = name === 'pthread_create' ? NOT_SUPPORTED : 0;
  if (module === 'env' && name.startsWith('pthread_')) (imports.env ??= {})[name] = () => answer;
}
wasi.start(await WebAssembly.instantiate(program, imports));
