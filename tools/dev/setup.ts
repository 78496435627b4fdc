import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeParts, inspectMachine, thisMachine } from './machine.ts'

/**
 * `npm run setup`: development keys and a network on SQLite in .dev/, made by the command line we ship. It needs no
 * database server. `npm run setup -- --check` only reports what this machine has; `--json` does so as JSON.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const BUILT_PROGRAM = 'apps/cli/dist/main.js'
export const DEV_SETTINGS = '.dev/authority.env'
const USAGE = 'npm run setup [-- --check [--json]]'

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

/** The range of `engines` in package.json, see docs/decisions/0001-runtime-and-packages.md. */
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

/** Returns 0 when the network is ready, 1 when it could not be made, 2 for a usage error. */
export async function main(args: string[]): Promise<number> {
  const call = readCall(args)
  if (typeof call === 'string') {
    console.error(`${call}\n${USAGE}`)
    return 2
  }
  // First the network: a missing program must not hide that development works.
  if (!call.check && !setUp()) {
    console.error('The network in .dev/ was not made. Fix the error above, then run npm run setup again.')
    return 1
  }
  const parts = await inspectMachine(thisMachine())
  if (call.json) console.log(JSON.stringify({ node: process.versions.node, parts }, undefined, 2))
  else for (const line of describeParts(parts)) console.log(line)
  if (!call.check) console.log('Ready: keys and settings are in .dev/. Next: npm run dev')
  return 0
}

function readCall(args: string[]): { readonly check: boolean; readonly json: boolean } | string {
  try {
    const options = { check: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } } as const
    const { check, json } = parseArgs({ args, options }).values
    return json && !check ? '--json needs --check.' : { check, json }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
