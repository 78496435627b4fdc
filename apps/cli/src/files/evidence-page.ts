import { readFile } from 'node:fs/promises'
import { errorCode } from './files.ts'

/** The page without a pack, which `npm run build` makes. Sources and build are at the same depth. */
const PAGE = new URL('../../dist/evidence-page/page.html', import.meta.url)

/** Returns the page of this release, without a pack. */
export function loadPageTemplate(): Promise<string> {
  return readFile(PAGE, 'utf8')
}

/** Returns the page of this release, or undefined when this installation has none. */
export async function findPageTemplate(): Promise<string | undefined> {
  try {
    return await loadPageTemplate()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
