import { homedir } from 'node:os'
import { explain } from './explain.ts'
import { screen } from './output/screen.ts'
import { terminalPrompts } from './prompts.ts'
import { runProgram } from './program.ts'
import { sleep, stopSignal } from './process-time.ts'

// `chancery … | head` closes the pipe early; that is no error of this program.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})

const { stdin, stdout, stderr, env } = process

// A defect outside of any call: in our own words, and past the same place as all output. A service has its own handling.
process.on('uncaughtException', (error) => {
  if (process.listenerCount('uncaughtException') > 1) return
  screen(stderr).write(`error: ${explain(error, (env['CHANCERY_DEBUG'] ?? '') !== '').message}\n`)
  process.exit(1)
})

process.exitCode = await runProgram(process.argv.slice(2), {
  stdin,
  stdout,
  stderr,
  env,
  cwd: process.cwd(),
  userHome: homedir(),
  now: () => BigInt(Math.floor(Date.now())) * 1000n,
  random: () => Math.random(),
  sleep,
  stop: () => stopSignal(process),
  prompts: terminalPrompts({ stdin, stderr }),
})
