import type { PageResult, PageTest, PageTests } from './page-test.ts'

/** Replaced by the bundler with one import for each file. */
interface BundlerMeta {
  glob(pattern: string, options: { eager: true }): Record<string, PageTests>
}
const files = (import.meta as unknown as BundlerMeta).glob('./*.browser.ts', { eager: true })

/** Where tools/check/test-browser.ts waits for the results. */
const page = globalThis as unknown as { pageResults?: readonly PageResult[] }

page.pageResults = await runAll(Object.entries(files))

async function runAll(entries: readonly [string, PageTests][]): Promise<PageResult[]> {
  const results: PageResult[] = []
  for (const [file, { tests }] of entries) {
    const area = file.replace('./', '').replace('.browser.ts', '')
    for (const test of tests) results.push({ name: `${area}: ${test.name}`, problem: await outcome(test) })
  }
  return results
}

async function outcome(test: PageTest): Promise<string | undefined> {
  try {
    await test.run()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
