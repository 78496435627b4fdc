/** Location of the reader: page and one name only, because an address must not contain a secret. */
export const PAGES = ['overview', 'mesh', 'networks', 'explorer', 'certificate', 'federation', 'request'] as const
export type Page = (typeof PAGES)[number]

export interface ViewLocation {
  readonly page: Page
  /** The operation of the explorer, or the id of a request. */
  readonly operation: string | undefined
}

export function readLocation(hash: string): ViewLocation | undefined {
  if (!hash.startsWith('#/')) return undefined
  const [word = '', operation = ''] = hash.slice(2).split('/')
  const page = PAGES.find((each) => each === word)
  return page === undefined ? undefined : { page, operation: decodeOperation(operation) }
}

export function writeLocation(page: Page, operation?: string): string {
  return `#/${page}${operation === undefined ? '' : `/${encodeURIComponent(operation)}`}`
}

function decodeOperation(text: string): string | undefined {
  return /^[A-Za-z0-9_-]+$/.test(text) ? text : undefined
}
