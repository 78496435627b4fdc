import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

export const ROOT: string = join(import.meta.dirname, '..', '..')

export type Command = readonly [string, ...string[]]

/** The exit code of a step that lacks a program and did nothing. Its last line gives the reason. */
export const NOT_RUN = 77

export interface Ended {
  readonly isGood: boolean
  readonly isRun: boolean
  readonly output: string
}

/** Runs a program in the root of the repository. The limit ends a program that hangs. */
export function runCommand([program, ...args]: Command, limitSeconds: number): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { ...process.env, NO_COLOR: '1' }
    const child = spawn(program, args, {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: limitSeconds * 1000,
    })
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
    const text = (): string => stripVTControlCharacters(Buffer.concat(chunks).toString('utf8'))
    child.on('error', (error) =>
      resolve({ isGood: false, isRun: true, output: `${text()}\n${program}: ${error.message}` }),
    )
    child.on('close', (code, signal) =>
      resolve({
        isGood: code === 0,
        isRun: code !== NOT_RUN,
        output: signal === null ? text() : `${text()}\nended by ${signal}`,
      }),
    )
  })
}

/** Returns the processor seconds of all ended child processes, or undefined where /proc does not exist. */
export function childProcessorSeconds(): number | undefined {
  try {
    // The name of the program is in brackets and may contain spaces. Fields 16 and 17, in hundredths of a second.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[13]) + Number(fields[14])) / 100
  } catch {
    return undefined
  }
}
