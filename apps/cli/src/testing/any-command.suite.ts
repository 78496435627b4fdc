import type { Command } from '@chancery/contract'
import type { CommandRun } from './run-command.suite.ts'

/** No server listens on this port. */
export const NOWHERE = 'http://127.0.0.1:1'

/** Text that shows how the program is built, never what a person did wrong. */
export const INTERNALS = [
  /^\s+at .*[:(]/m,
  /\bfile:\/\//,
  /\bnode:[a-z]/,
  /node_modules|[/\\]dist[/\\]|apps[/\\]cli[/\\]src/,
  /Unexpected error|\[object |\bundefined\b|\bERR_[A-Z]/,
]

/** Returns what is wrong with the output of a command that cannot succeed, or undefined. */
export function problemOf({ code, stdout, stderr }: CommandRun, mayPass = false): string | undefined {
  const found = INTERNALS.find((pattern) => pattern.test(stdout + stderr))
  if (found !== undefined) return `shows ${found}`
  if (mayPass && code <= 1 && !stderr.includes('error:')) return undefined
  if (code === 0) return 'exits with 0'
  // A service writes what is wrong with its settings to the process: faults.test.ts checks that text.
  if (code === 78) return undefined
  if (stdout !== '' && code === 1 && !stderr.includes('error:')) return undefined
  const [, message = ''] = /^error: (.+)$/m.exec(stderr) ?? []
  if (message === '') return stderr.includes('Usage:') ? undefined : 'has no error sentence'
  const after = stderr.slice(stderr.indexOf(message) + message.length).trim()
  return after === '' ? 'does not say what to do next' : undefined
}

export function nameOf({ path }: Command): string {
  return path.join(' ')
}

/** A value for an option or argument; names of files and keys get the wrong one. */
function valueFor(name: string, wrong: string): string {
  if (/^(n|sequence|version|hours|days|seconds|port|quorum)$/.test(name)) return '1'
  if (/^(address|url)$/.test(name)) return NOWHERE
  if (/^time$/.test(name)) return '2030-01-01T00:00:00Z'
  if (/file|dir|folder|key$|agreement|pin|record|certificate|genesis|path/.test(name)) return wrong
  return 'x'
}

export function fill(command: Command, wrong: string): readonly string[] {
  const options = command.options.flatMap(({ flags, required, choices }) => {
    const [flag = '', value] = flags.split(' ')
    const name = value?.slice(1, -1)
    if (name === undefined || (required !== true && !/file|dir|folder/.test(name)) || flag === '--out') return []
    return [flag, choices?.[0] ?? valueFor(name, wrong)]
  })
  const out = command.options.some(({ flags, required }) => flags.startsWith('--out ') && required === true)
  const words = command.arguments
    .filter(({ required }) => required)
    .map(({ name, choices }) => choices?.[0] ?? valueFor(name, wrong))
  return [...words, ...options, ...(out ? ['--out', `out-${nameOf(command).replaceAll(' ', '-')}`] : [])]
}
