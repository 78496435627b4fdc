import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** `npm run setup`: development keys and a network in .dev/, made by the command line we ship. */

const ROOT = join(import.meta.dirname, '..', '..')
const BUILT_PROGRAM = 'apps/cli/dist/main.js'
export const DEV_SETTINGS = '.dev/authority.env'

/** True when everything is there. Repeating it changes nothing; remove .dev/ to start again. */
export function setUp(): boolean {
  if (!isSupportedNode(process.versions.node)) {
    console.error(`Node.js ${process.versions.node} accepts forged signatures; 24.19 or 26.5 is needed. Run: npm ci`)
    return false
  }
  if (existsSync(join(ROOT, DEV_SETTINGS))) return true
  const isBuilt = existsSync(join(ROOT, BUILT_PROGRAM)) || run('npm', ['run', 'build'])
  return (
    isBuilt &&
    run('npx', ['--no-install', 'chancery', 'init', '--home', '.dev', '--network', 'DEV-NET', '--port', '8443'])
  )
}

/** The range of `engines` in package.json, see docs/decisions/0001-runtime.md. */
function isSupportedNode(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return (major === 24 && minor >= 19) || (major === 26 && minor >= 5) || major > 26
}

function run(program: string, args: readonly string[]): boolean {
  console.log(`> ${[program, ...args].join(' ')}`)
  const { status, error } = spawnSync(program, args, { cwd: ROOT, stdio: 'inherit' })
  if (error !== undefined) console.error(`${program}: ${error.message}`)
  return status === 0
}

if (import.meta.main) {
  const isReady = setUp()
  if (isReady) console.log(`Ready: keys and settings are in .dev/. Next: npm run dev`)
  process.exitCode = isReady ? 0 : 1
}
