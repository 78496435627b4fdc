import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/**
 * The arguments, the last line and the exit code of `.ci/run`, which the build server reads. It runs on a machine where
 * everything is installed; npm is replaced, because a real run takes many minutes.
 */

const ROOT = join(import.meta.dirname, '..', '..')
/** Programs that `.ci/run` looks for or asks; all answer as on a machine where nothing is missing. */
const INSTALLED = ['redis-server', 'chromium', 'python3', 'nginx', 'caddy', 'g++', 'make', 'sqlite3', 'nats-server']
const STUBS: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...INSTALLED, 'promtool', 'node', 'pg_isready', 'psql'].map((name) => [name, 'exit 0'])),
  'dpkg-query': 'echo installed',
  'redis-cli': 'echo PONG',
  pg_lsclusters: 'echo 15 main 5432 online',
  'apt-get': 'exit 99',
  npm: 'echo "$@" >>"$CALLS"; case "$*" in "$BROKEN") exit 1 ;; "run --silent $SCRIPT --"*) printf "%s\\n" "$OUTPUT"; exit "$CODE" ;; esac',
}
let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'chancery-ci-'))
  cpSync(join(ROOT, '.ci'), join(folder, '.ci'), { recursive: true })
  mkdirSync(join(folder, 'bin'))
  for (const [name, body] of Object.entries(STUBS)) {
    const file = join(folder, 'bin', name)
    writeFileSync(file, `#!/bin/sh\n${body}\n`)
    chmodSync(file, 0o755)
  }
})
afterAll(() => rmSync(folder, { recursive: true }))

interface Wanted {
  readonly script: string
  readonly output: string
  readonly code: number
  /** The arguments of a call of npm that fails. */
  readonly broken?: string
}

function ciRun(args: readonly string[], { script, output, code, broken = 'none' }: Wanted) {
  const calls = join(folder, 'calls')
  rmSync(calls, { force: true })
  const env = {
    PATH: `${join(folder, 'bin')}:/usr/bin:/bin`,
    CALLS: calls,
    SCRIPT: script,
    OUTPUT: output,
    CODE: String(code),
    BROKEN: broken,
  }
  const { status, stdout } = spawnSync(join(folder, '.ci/run'), args, { env, encoding: 'utf8' })
  return { status, last: stdout.trimEnd().split('\n').at(-1), calls: readFileSync(calls, 'utf8').trimEnd().split('\n') }
}

describe('.ci/run', () => {
  it('installs, builds and runs npm run check, and ends with its count', () => {
    const { status, last, calls } = ciRun([], { script: 'check', output: 'ok\n12 passed, 0 failed', code: 0 })
    expect({ status, last }).toEqual({ status: 0, last: '12 passed, 0 failed' })
    expect(calls.at(-1)?.trim()).toBe('run --silent check --')
    expect(calls).toEqual(expect.arrayContaining(['ci --no-progress', 'run --silent build']))
  })

  it('passes the name of a script and its options on', () => {
    const wanted = { script: 'check:nightly', output: '1 passed, 0 failed', code: 0 }
    expect(ciRun(['check:nightly', '--only', 'helm'], wanted).calls.at(-1)).toBe(
      'run --silent check:nightly -- --only helm',
    )
  })

  it.each(['ci --no-progress', 'ci --no-progress --prefix site', 'run --silent build:pkcs11', 'run --silent build'])(
    'fails, and checks nothing, when npm %s fails',
    (broken) => {
      const { status, last, calls } = ciRun([], { script: 'check', output: '12 passed, 0 failed', code: 0, broken })
      expect({ status, last }).toEqual({ status: 1, last: '0 passed, 1 failed' })
      expect(calls.filter((call) => call.startsWith('run --silent check'))).toEqual([])
    },
  )

  it.each([
    ['a failed check', 'check', '3 passed, 2 failed', 1, '3 passed, 2 failed', 1],
    ['a check that broke before its count', 'check', 'TypeError', 1, '0 passed, 1 failed', 1],
    ['a check that ended well without a count', 'check:quick', 'ok', 0, '0 passed, 1 failed', 1],
    ['a campaign without violations', 'campaign', 'no violations', 0, '1 passed, 0 failed', 0],
    ['a campaign with violations', 'campaign', 'violations in kills, seed 7', 1, '0 passed, 1 failed', 1],
  ])('%s: last line and exit code agree', (_, script, output, code, last, status) => {
    expect(ciRun([script], { script, output, code })).toMatchObject({ last, status })
  })
})
