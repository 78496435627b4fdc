import { homedir } from 'node:os'
import { screen } from './output/screen.ts'
import { terminalPrompts } from './prompts/prompts.ts'
import { runProgram } from './program.ts'
import { sleep, stopSignal } from './process.ts'

// `chancery … | head` closes the pipe early, which is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})

const { stdin, stdout, stderr, env } = process

// Reports a defect outside of a command through the screen filter. A service has its own handler.
process.on('uncaughtException', (error) => {
  if (process.listenerCount('uncaughtException') > 1) return
  void reportDefect(error)
})

async function reportDefect(error: Error): Promise<void> {
  const { explain } = await import('./errors/explain.ts')
  screen(stderr).write(`error: ${explain(error, (env['CHANCERY_DEBUG'] ?? '') !== '').message}\n`)
  process.exit(70)
}

/** Runs the program with the streams and the clock of this process. */
export async function runProcess(): Promise<void> {
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
}
