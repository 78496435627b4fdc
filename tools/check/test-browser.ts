import { existsSync } from 'node:fs'
import { type Server, createServer } from 'node:http'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { type Page, chromium } from 'playwright-core'
import { type Plugin, build } from 'vite'
import type { PageResult } from '../../tests/browser/page-test.ts'

/** `npm run test:browser`: the page tests of tests/browser/*.browser.ts, in a real Chromium. */

const CHROMIUM = '/usr/bin/chromium'
const INSTALL = 'apt-get update && apt-get install -y --no-install-recommends chromium'
const ARGS = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
const PAGES = join(import.meta.dirname, '..', '..', 'tests', 'browser')
// A script that cannot be loaded reports itself; without that the tool would wait for results until its timeout.
const HTML = `<!doctype html><meta charset="utf-8"><title>page tests</title><link rel="icon" href="data:,">
<script>
  addEventListener('error', (event) => {
    globalThis.pageResults ??= [{ name: 'page: loads', problem: event.message ?? 'no script' }]
  }, true)
</script>
<script type="module" src="/page.js"></script>`
const TIMEOUT_MS = 120_000

async function main(): Promise<number> {
  // Never skipped: a check that could not run has failed.
  if (!existsSync(CHROMIUM)) {
    print(`${CHROMIUM} is missing. Install it with: ${INSTALL}`)
    return 1
  }
  const bundle = await bundlePage()
  const results = [checkBundle(bundle), ...(await runPage(bundle))]
  for (const { name, problem } of results) print(problem === undefined ? `ok ${name}` : `not ok ${name}: ${problem}`)
  const failed = results.filter(({ problem }) => problem !== undefined).length
  print(`${results.length - failed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}

/** The bundler would put an empty object in place of a built-in module; left as an import, checkBundle finds it. */
const keepBuiltins: Plugin = {
  name: 'keep-builtins',
  enforce: 'pre',
  resolveId: (source) =>
    isBuiltin(source) ? { id: `node:${source.replace('node:', '')}`, external: true } : undefined,
}

/** One module. Without the condition `node` every `#platform` import resolves to its browser side. */
async function bundlePage(): Promise<string> {
  const output = await build({
    configFile: false,
    logLevel: 'warn',
    root: PAGES,
    plugins: [keepBuiltins],
    resolve: { conditions: ['development', 'browser', 'module'] },
    build: {
      write: false,
      minify: false,
      target: 'es2024',
      modulePreload: false,
      rolldownOptions: { input: join(PAGES, 'page.ts'), output: { entryFileNames: 'page.js' } },
    },
  })
  const chunks = [output].flat().flatMap((one) => ('output' in one ? one.output : []))
  const [page, ...more] = chunks
  if (page?.type !== 'chunk' || more.length > 0) throw new Error('the page is more than one module')
  return page.code
}

/** A browser has no built-in modules: one mention means that a Node side was bundled. */
function checkBundle(bundle: string): PageResult {
  const found = /["'`]node:[a-z_/]+/.exec(bundle)?.[0]
  return { name: 'bundle: imports nothing of Node', problem: found === undefined ? undefined : `found ${found}` }
}

async function runPage(bundle: string): Promise<PageResult[]> {
  const server = await serve(bundle)
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS })
  try {
    const page = await browser.newPage()
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text())
    })
    await page.goto(addressOf(server))
    const results = await resultsOf(page, errors)
    return [
      ...results,
      { name: 'page: runs without errors', problem: errors.length === 0 ? undefined : errors.join('; ') },
    ]
  } finally {
    await browser.close()
    server.close()
  }
}

async function resultsOf(page: Page, errors: string[]): Promise<PageResult[]> {
  try {
    // Strings, since these two expressions run in the page.
    await page.waitForFunction('globalThis.pageResults !== undefined', undefined, { timeout: TIMEOUT_MS })
    const results = await page.evaluate<PageResult[]>('globalThis.pageResults')
    return results.length > 0 ? results : [{ name: 'page: has tests', problem: 'found none' }]
  } catch (error) {
    errors.push(error instanceof Error ? error.message : String(error))
    return []
  }
}

/** 127.0.0.1 counts as a secure context, which WebCrypto asks for. */
function serve(bundle: string): Promise<Server> {
  const server = createServer((request, response) => {
    const isScript = request.url === '/page.js'
    response.setHeader('Content-Type', isScript ? 'text/javascript; charset=utf-8' : 'text/html; charset=utf-8')
    response.end(isScript ? bundle : HTML)
  })
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server))
  })
}

function addressOf(server: Server): string {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return `http://127.0.0.1:${address.port}/`
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

process.exitCode = await main()
