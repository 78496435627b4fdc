import { spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { checkBuiltSite, checkMarkdownLinks } from './check-links.ts'
import { checkSearch, readQuestions } from './check-search.ts'

/**
 * `npm run docs`, `docs:build`, `docs:check`: the documentation site from the Markdown files of the repository. Its
 * packages have a separate lock file and are installed when they are first needed (docs/decisions/0024).
 */

const ROOT = join(import.meta.dirname, '..', '..')
const SITE = join(ROOT, 'site')
const BUILT = join(SITE, 'dist')
const ASTRO = join(SITE, 'node_modules/astro/bin/astro.mjs')
/** No usage is reported. */
const env = { ...process.env, ASTRO_TELEMETRY_DISABLED: '1', NO_COLOR: '1' }

interface Ended {
  readonly code: number | null
  readonly output: string
}

function run(program: string, args: readonly string[], isShown = false): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: SITE, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        if (isShown) process.stdout.write(chunk)
      })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output: stripVTControlCharacters(output) }))
  })
}

async function install(): Promise<boolean> {
  const installed = join(SITE, 'node_modules/.package-lock.json')
  const isCurrent = existsSync(installed) && changedAt(installed) >= changedAt(join(SITE, 'package-lock.json'))
  if (isCurrent) return true
  console.log('installing the packages of the site (npm ci in site/)')
  const { code, output } = await run('npm', ['ci', '--no-progress'])
  if (code !== 0) console.error(output)
  return code === 0
}

function changedAt(file: string): number {
  return statSync(file).mtimeMs
}

/** A warning is a failure, because warnings that do not fail the build are ignored. */
async function build(): Promise<boolean> {
  if (!(await install())) return false
  const { code, output } = await run(process.execPath, [ASTRO, 'build'])
  const warnings = output.split('\n').filter((line) => /\bwarn(ing)?\b|\bdeprecated\b/i.test(line))
  const pages = /(\d+) page\(s\) built/.exec(output)?.[1]
  if (code === 0 && warnings.length === 0 && pages !== undefined) {
    console.log(`${pages} pages in site/dist`)
    return true
  }
  console.error(output)
  if (warnings.length > 0) console.error(`${warnings.length} warnings:\n${warnings.join('\n')}`)
  return false
}

async function check(): Promise<boolean> {
  if (!existsSync(join(BUILT, 'index.html'))) {
    console.error('there is no built site: npm run docs:build')
    return false
  }
  const broken = [...checkMarkdownLinks(ROOT), ...checkBuiltSite(BUILT)]
  for (const { at, target, problem } of broken) console.error(`${at}: ${target}: ${problem}`)
  if (broken.length === 0) console.log('every link leads somewhere')
  return (await checkQuestions()) && broken.length === 0
}

async function checkQuestions(): Promise<boolean> {
  if (!existsSync(join(BUILT, 'pagefind/pagefind.js'))) {
    console.error('the search index is missing')
    return false
  }
  const wrong = await checkSearch(BUILT)
  for (const { question, page, found } of wrong)
    console.error(`the search for "${question}" must find ${page} first, but finds ${found.join(', ') || 'nothing'}`)
  if (wrong.length === 0) console.log(`the search finds the right page for ${readQuestions().length} questions`)
  return wrong.length === 0
}

async function preview(): Promise<boolean> {
  if (!(await install())) return false
  const { code } = await run(process.execPath, [ASTRO, 'dev', '--host', '127.0.0.1'], true)
  return code === 0
}

const ACTIONS: Readonly<Record<string, () => boolean | Promise<boolean>>> = { build, check, preview }

async function main(names: readonly string[]): Promise<number> {
  for (const name of names) {
    const action = ACTIONS[name]
    if (action === undefined) {
      console.error(`no action ${name}; there are: ${Object.keys(ACTIONS).join(', ')}`)
      return 2
    }
    if (!(await action())) return 1
  }
  return 0
}

process.exitCode = await main(process.argv.slice(2))
