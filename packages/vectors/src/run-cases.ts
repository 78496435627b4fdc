import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** One question to an implementation, with the only right answer. */
export interface ConformanceCase {
  readonly id: string
  readonly operation: string
  readonly input: { readonly [name: string]: Json }
  readonly expected: { readonly [name: string]: Json }
}

export interface CaseFile {
  readonly format: 'chancery-conformance'
  readonly version: 1
  readonly group: string
  /** Where the expected values come from. */
  readonly source: string
  readonly cases: readonly ConformanceCase[]
}

const FOLDER = join(import.meta.dirname, '..', 'cases')

/** The files of the package, in the order of their names. */
export async function readCaseFiles(folder: string = FOLDER): Promise<readonly CaseFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).toSorted()
  return Promise.all(names.map(async (name) => JSON.parse(await readFile(join(folder, name), 'utf8')) as CaseFile))
}

export interface RunOptions {
  /** The program and its arguments. It reads requests from standard input and writes answers to standard output. */
  readonly command: readonly string[]
  /** Ends the program when no answer came for so long. */
  readonly timeoutMs?: number
}

export interface CaseResult {
  readonly id: string
  readonly status: 'passed' | 'failed' | 'unsupported'
  /** What was answered instead of the expected value; null when the case did not fail. */
  readonly detail: string | null
}

const DEFAULT_TIMEOUT_MS = 60_000
const SHOWN_CHARACTERS = 300
const SHOWN_PROBLEMS = 3
/** No answer is so long. */
const MAX_LINE_CHARACTERS = 1_048_576

/** Asks the program every case and compares its answers. A case without an answer failed. */
export async function runCases(cases: readonly ConformanceCase[], options: RunOptions): Promise<readonly CaseResult[]> {
  const { answers, ending } = await askProgram(cases, options)
  return cases.map((each) => judge(each, answers.get(each.id), ending))
}

type Answer = { readonly [name: string]: Json }

async function askProgram(
  cases: readonly ConformanceCase[],
  { command: [program = '', ...args], timeoutMs = DEFAULT_TIMEOUT_MS }: RunOptions,
): Promise<{ readonly answers: ReadonlyMap<string, Answer>; readonly ending: string }> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const answers = new Map<string, Answer>()
  const problems: string[] = []
  const asked = new Set(cases.map(({ id }) => id))
  const endProgram = (reason: string): void => {
    problems.unshift(reason)
    child.kill('SIGKILL')
    // A process that it started may still have them open.
    child.stdin.destroy()
    child.stdout.destroy()
  }
  const timer = setTimeout(() => endProgram(`no answer for ${timeoutMs} ms`), timeoutMs)
  const closed = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`the program did not start: ${error.message}`))
    child.once('close', (code, signal) => resolve(`the program ended with ${signal ?? `exit code ${code}`}`))
  })
  // A program that ends early closes its input. Its missing answers say so.
  child.stdin.on('error', () => child.stdin.destroy())
  child.stdout.setEncoding('utf8')
  let rest = ''
  child.stdout.on('data', (text: string) => {
    // Only a line feed ends a line: readline also splits at U+2028, which a JSON text may have.
    const lines = `${rest}${text}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const problem = takeAnswer(line, asked, answers)
      if (problem === undefined) timer.refresh()
      else if (problems.length < SHOWN_PROBLEMS) problems.push(problem)
    }
    if (rest.length > MAX_LINE_CHARACTERS) endProgram(`a line has more than ${MAX_LINE_CHARACTERS} characters`)
  })
  void writeRequests(child.stdin, cases)
  const end = await closed
  clearTimeout(timer)
  return { answers, ending: [end, ...problems.slice(0, SHOWN_PROBLEMS)].join('; ') }
}

async function writeRequests(input: NodeJS.WritableStream, cases: readonly ConformanceCase[]): Promise<void> {
  for (const { id, operation, input: given } of cases) {
    if (!input.writable) return
    if (!input.write(`${toAscii(JSON.stringify({ id, operation, input: given }))}\n`))
      await Promise.race([once(input, 'drain'), once(input, 'close')])
  }
  input.end()
}

/** Programs that split lines at other characters than a line feed read every request. */
function toAscii(json: string): string {
  return json.replace(/[^\n -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Gives what is wrong with the line. */
function takeAnswer(line: string, asked: ReadonlySet<string>, answers: Map<string, Answer>): string | undefined {
  let answer: unknown
  try {
    answer = JSON.parse(line)
  } catch {
    return `this line is no JSON: ${shorten(line)}`
  }
  const id = isAnswer(answer) ? answer['id'] : undefined
  if (typeof id !== 'string' || !asked.has(id)) return `this line has no id of a case: ${shorten(line)}`
  if (answers.has(id)) return `a second answer to ${id}`
  answers.set(id, answer as Answer)
  return undefined
}

function isAnswer(value: unknown): value is Answer {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function judge({ id, expected }: ConformanceCase, answer: Answer | undefined, ending: string): CaseResult {
  if (answer === undefined) return { id, status: 'failed', detail: `no answer: ${ending}` }
  if (answer['unsupported'] === true) return { id, status: 'unsupported', detail: null }
  const { output } = answer
  if (isDeepStrictEqual(output, expected)) return { id, status: 'passed', detail: null }
  const seen = JSON.stringify(output ?? answer)
  return { id, status: 'failed', detail: `gave ${shorten(seen)} instead of ${shorten(JSON.stringify(expected))}` }
}

function shorten(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text
}
