import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { programIn, tryAuthority, tryCommands, tryEvidence } from '../try-install.ts'

/** `npm run one-file:try`: the single file in an empty environment, where no Node.js can be found. */

const ROOT = join(import.meta.dirname, '../../..')
const program = resolve(process.argv[2] ?? join(ROOT, 'dist', 'chancery'))
if (!existsSync(program)) throw new Error(`${program} is missing. Run: npm run build:one-file`)
const folder = mkdtempSync(join(tmpdir(), 'chancery-one-file-'))
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string }
const installed = programIn(folder, program, { PATH: '/nonexistent' }, (line) => console.log(`ok     ${line}`))
try {
  await tryCommands(installed, version)
  await tryAuthority(installed)
  await tryEvidence(installed)
} finally {
  rmSync(folder, { recursive: true })
}
