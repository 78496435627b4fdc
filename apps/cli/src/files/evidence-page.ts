import { readFileSync } from 'node:fs'
import { errorCode } from './files.ts'

/** The page without a pack, which `npm run build` makes. Sources and build are at the same depth. */
const PAGE = new URL('../../dist/evidence-page/page.html', import.meta.url)

/** Returns the page of this release, without a pack. Read with node:fs, because the one-file build carries it there. */
export function loadPageTemplate(): string {
  return readFileSync(PAGE, 'utf8')
}

/** Returns the page of this release, or undefined when this installation has none. */
export function findPageTemplate(): string | undefined {
  try {
    return loadPageTemplate()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
