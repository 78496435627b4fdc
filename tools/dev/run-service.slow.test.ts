import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
const MODULE = join(import.meta.dirname, 'run-service.ts')

/** Ends one and a half seconds after the first signal, at once with 1 at the second one, as services do. */
const SERVICE = `
let signals = 0
const on = (signal) => {
  console.log(signal)
  if (++signals > 1) process.exit(1)
  setTimeout(() => process.exit(0), 1500)
}
process.on('SIGINT', on).on('SIGTERM', on)
setInterval(() => {}, 1000)
console.log('ready', process.pid)
`

/** Starts a service as `npm run dev` does. */
function start(service: string) {
  const script = `
    import { runService } from ${JSON.stringify(MODULE)}
    process.exitCode = await runService(['-e', ${JSON.stringify(service)}], '/')
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const closed = once(child, 'close')
  return {
    child,
    words: () => output.split('\n').filter((line) => line.startsWith('SIG')),
    ready: async () => {
      await expect.poll(() => output).toMatch(/^ready \d+\n/)
    },
    pid: () => Number(/^ready (\d+)/.exec(output)?.[1]),
    exitCode: async () => ((await closed) as [number | null])[0],
  }
}

it.each(['SIGINT', 'SIGTERM'] as const)('passes on one %s when npm and the terminal both send it', async (signal) => {
  const { child, ready, words, pid, exitCode } = start(SERVICE)
  await ready()
  child.kill(signal)
  await expect.poll(words).toEqual([signal])
  child.kill(signal)
  expect(await exitCode()).toBe(0)
  expect(words()).toEqual([signal])
  expect(() => process.kill(pid(), 0)).toThrow('ESRCH')
})

it('passes on a second key press', async () => {
  const { child, ready, words, exitCode } = start(SERVICE)
  await ready()
  child.kill('SIGINT')
  await expect.poll(words).toEqual(['SIGINT'])
  await sleep(1100)
  child.kill('SIGINT')
  expect(await exitCode()).toBe(1)
  expect(words()).toEqual(['SIGINT', 'SIGINT'])
})

it('stops the service when the terminal is closed', async () => {
  const { child, ready, words, exitCode } = start(SERVICE)
  await ready()
  child.kill('SIGHUP')
  expect(await exitCode()).toBe(0)
  expect(words()).toEqual(['SIGTERM'])
})

it('gives the exit code of a service, and 1 for one that a signal ended', async () => {
  expect(await start('process.exit(3)').exitCode()).toBe(3)
  expect(await start("process.kill(process.pid, 'SIGKILL')").exitCode()).toBe(1)
})

// A shell between npm and the program would take the SIGTERM of npm, and the authority would go on.
it('is the process that npm signals', async () => {
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  expect(scripts['dev']).toMatch(/^exec node /)
})
