import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/**
 * Asks the search of the built site the questions of questions.json. The right page must be the first result. It loads
 * the search program and the index that the pages load, with the same ranking (site/search.mjs).
 */

const QUESTIONS = join(import.meta.dirname, 'questions.json')
const RANKING = join(import.meta.dirname, '..', '..', 'site', 'search.mjs')

export interface Question {
  readonly question: string
  readonly page: string
}

export interface WrongAnswer extends Question {
  /** The addresses of the first results. */
  readonly found: readonly string[]
}

/** The functions of Pagefind that the page uses. */
interface SearchProgram {
  readonly options: (options: Readonly<Record<string, unknown>>) => Promise<void>
  readonly init: () => Promise<void>
  readonly search: (
    question: string,
  ) => Promise<{ readonly results: readonly { data: () => Promise<{ url: string }> }[] }>
  readonly destroy: () => Promise<void>
}

export function readQuestions(): readonly Question[] {
  return JSON.parse(readFileSync(QUESTIONS, 'utf8')) as Question[]
}

/** Returns the questions whose first result is another page. */
export async function checkSearch(
  folder: string,
  questions: readonly Question[] = readQuestions(),
): Promise<readonly WrongAnswer[]> {
  const { ranking } = (await import(RANKING)) as { ranking: Readonly<Record<string, number>> }
  return withFiles(async () => {
    const bundle = pathToFileURL(`${join(folder, 'pagefind')}/`).href
    const program = (await import(`${bundle}pagefind.js`)) as SearchProgram
    await program.options({ basePath: bundle, baseUrl: '/', ranking })
    await program.init()
    const wrong: WrongAnswer[] = []
    for (const each of questions) {
      const { results } = await program.search(each.question)
      const found = await Promise.all(results.slice(0, 3).map(async (result) => (await result.data()).url))
      if (found[0] !== each.page) wrong.push({ ...each, found })
    }
    await program.destroy()
    return wrong
  })
}

/** The program fetches its index. Node.js does not fetch files, so they are read while it runs. */
async function withFiles<Result>(work: () => Promise<Result>): Promise<Result> {
  const original = globalThis.fetch
  globalThis.fetch = async (input) => {
    const url = new URL(input instanceof Request ? input.url : input)
    url.search = ''
    return new Response(await readFile(fileURLToPath(url)))
  }
  try {
    return await work()
  } finally {
    globalThis.fetch = original
  }
}
