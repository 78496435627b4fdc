import { spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { freePort } from '@chancery/testkit'

/**
 * Blocks of a page that begin with ```sh run are run, in their order, in one shell, as a reader would type them; the
 * ```text block that follows one is held against what it prints. A page that goes on where another stopped names
 * steps of it in a comment: <!-- run first: first-network.md 1, 2 -->; <!-- run here: … --> runs them at its place.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const LIMIT_MS = 600_000
/** A page starts the program many times; compiled code is cached in a private folder. */
const COMPILED = join(ROOT, 'node_modules/.cache/chancery-pages')
/** Ports that pages name; each run gets free ones. */
const PORTS = ['8443', '8444', '8445']

export interface Step {
  /** The heading above it. */
  readonly title: string
  readonly commands: string
  /** The lines under "You see". */
  readonly promised: readonly string[]
}

/** Pages of docs/ with something to run, and the first page of the repository. */
export function runnablePages(): readonly string[] {
  return [...globSync('docs/**/*.md', { cwd: ROOT }), 'README.md']
    .filter((page) => readSteps(readFileSync(join(ROOT, page), 'utf8')).length > 0)
    .toSorted()
}

/** Pages that run before a merge. All others run at night (docs/project/tests.md). */
const MERGE_PAGES = ['docs/tutorial/first-network.md', 'docs/operate/install.md']

export function isNightlyPage(page: string): boolean {
  return !MERGE_PAGES.includes(page) && !FIRST_HOUR_PAGES.includes(page)
}

export const GATEWAY_PAGE = 'docs/tutorial/gateway.md'

/**
 * Pages that first-hour.nightly.test.ts runs with an installation of the packed files. first-hour.test.ts runs the first
 * one with the built program.
 */
export const FIRST_HOUR_PAGES: readonly string[] = ['README.md', GATEWAY_PAGE]

/** Every `sh run` block with the `text` block that follows it before the next one. Blocks of a list are indented. */
export function readSteps(markdown: string): readonly Step[] {
  const blocks = [...markdown.matchAll(/^## (.+)$|^( *)```(sh run|text)\n([\s\S]*?)^\2```$/gm)]
  const steps: Step[] = []
  let title = ''
  for (const [, heading, indent = '', kind, indented = ''] of blocks) {
    const text = indented.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
    const last = steps.at(-1)
    if (heading !== undefined) title = heading
    else if (kind === 'sh run') steps.push({ title, commands: text, promised: [] })
    else if (last !== undefined && last.promised.length === 0)
      steps.splice(-1, 1, { ...last, promised: text.trimEnd().split('\n') })
  }
  return steps
}

const BORROWED = /^<!-- run (?:first|here): (\S+) ([\d, ]+) -->$/gm

/** Steps of other pages that must have been done, from the comments of this one. */
export function stepsBefore(page: string, markdown: string): readonly Step[] {
  return [...markdown.matchAll(BORROWED)].flatMap(([, other = '', numbers = '']) => {
    const steps = readSteps(readFileSync(join(ROOT, dirname(page), other), 'utf8'))
    return numbers.split(',').flatMap((number) => {
      const found = steps.filter(({ title }) => title.startsWith(`${number.trim()}. `))
      if (found.length === 0) throw new Error(`${page}: ${other} has no step ${number.trim()} to run`)
      return found
    })
  })
}

interface PlacedStep extends Step {
  /** False for a step of another page, whose output is compared there. */
  readonly isOwn: boolean
}

/** The steps of a page in their order, with those of other pages where it names them. */
export function allSteps(page: string, markdown: string): readonly PlacedStep[] {
  const starts = [0, ...[...markdown.matchAll(BORROWED)].map(({ index }) => index)]
  return starts.flatMap((start, at) => {
    const piece = markdown.slice(start, starts[at + 1])
    const borrowed = stepsBefore(page, piece).map((step) => ({ ...step, isOwn: false }))
    return [...borrowed, ...readSteps(piece).map((step) => ({ ...step, isOwn: true }))]
  })
}

/** The first promised line that does not stand in the output, in its order; … stands for anything, also whole lines. */
export function missing(promised: readonly string[], output: string): string | undefined {
  const lines = output.split('\n')
  let at = 0
  for (const promise of promised) {
    if (promise.trim() === '…' || promise.trim() === '') continue
    const parts = promise
      .trim()
      .split('…')
      .map((part) => part.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    const pattern = new RegExp(`^\\s*${parts.join('.*').replaceAll(/ +/g, ' +')}\\s*$`)
    const found = lines.findIndex((line, index) => index >= at && pattern.test(line))
    if (found === -1) return promise
    at = found + 1
  }
  return undefined
}

export interface Ran {
  readonly code: number | null
  /** What each step of the page printed, with the ports the page names. */
  readonly outputs: readonly string[]
  readonly output: string
  readonly errors: string
  /** Where it ran; the caller removes it, or the home with it. */
  readonly folder: string
}

/** Pages wait for services as much as they compute: two at a time, each in a separate folder and on separate ports. */
export async function runPages(pages: readonly string[], home?: string, atOnce = 2): Promise<ReadonlyMap<string, Ran>> {
  const waiting = [...pages]
  const ran = new Map<string, Ran>()
  const take = async (): Promise<void> => {
    for (let page = waiting.shift(); page !== undefined; page = waiting.shift())
      ran.set(page, await runPage(page, BIN, home))
  }
  await Promise.all(Array.from({ length: atOnce }, take))
  return ran
}

const BIN = join(ROOT, 'node_modules/.bin')

/**
 * Runs one page with the programs of `bin`: those of the workspace, or of an installation. Pages with one `home` run as
 * those of one reader: what one of them chooses with `chancery use` is chosen for the next.
 */
export async function runPage(page: string, bin = BIN, home?: string): Promise<Ran> {
  if (!existsSync(join(ROOT, 'apps/cli/dist/main.js'))) throw new Error('build first: npm run build')
  const markdown = readFileSync(join(ROOT, page), 'utf8')
  const steps = allSteps(page, markdown)
  const ports = new Map<string, string>()
  for (const port of PORTS) ports.set(port, String(await freePort()))
  const folder = await mkdtemp(join(home ?? tmpdir(), 'chancery-page-'))
  const script = replaceAll(toScript(steps), ports)
  const { code, output, errors } = await runScript(script, { folder, bin, home: home ?? folder })
  const named = replaceAll(output, new Map([...ports].map(([from, to]) => [to, from])))
  const printed = named.split(new RegExp(`^${MARK}\\d+\\n`, 'm')).slice(1)
  const outputs = printed.filter((_, index) => steps[index]?.isOwn === true)
  return { code, outputs, output, errors, folder }
}

const MARK = '::: step '

/** One shell for all steps: what runs in the background stays, and a failure ends it. */
function toScript(steps: readonly Step[]): string {
  const body = steps.map(({ commands }, index) => `echo '${MARK}${index}'\n${commands}`)
  // A program can outlive its pipe: each one that still runs at the end is ended, by its id. Programs in the background
  // leave their ids in files. They write until they have ended, so the folder is free only then.
  const head = [
    'set -euo pipefail',
    'stop_all() {',
    '  ids=$(cat */authority.pid */gateway.pid 2> /dev/null || true)',
    '  kill $(jobs -p) $ids 2> /dev/null || true',
    '  while [ -n "$ids" ] && kill -0 $ids 2> /dev/null; do sleep 0.1; done',
    '}',
    'trap stop_all EXIT',
  ]
  return [...head, ...body].join('\n')
}

function replaceAll(text: string, words: ReadonlyMap<string, string>): string {
  return [...words].reduce((out, [from, to]) => out.replaceAll(from, to), text)
}

interface Place {
  readonly folder: string
  readonly bin: string
  readonly home: string
}

function runScript(script: string, { folder, bin, home }: Place): Promise<Pick<Ran, 'code' | 'output' | 'errors'>> {
  return new Promise((resolve, reject) => {
    const path = [bin, process.env['PATH'] ?? ''].join(delimiter)
    // A separate home: the configuration of the person who runs the test must not be read.
    const env = { PATH: path, HOME: home, NO_COLOR: '1', NODE_COMPILE_CACHE: COMPILED }
    // Alone in its group, so that nothing it started is left behind when it takes too long.
    const child = spawn('bash', ['-c', script], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let [output, errors] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => void (output += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => void (errors += chunk.toString()))
    const limit = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), LIMIT_MS)
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(limit)
      resolve({ code, output, errors })
    })
  })
}
