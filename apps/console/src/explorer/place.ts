/** Where the reader is. Pages and operations only: nothing secret may ever stand in an address. */
export const PAGES = ['overview', 'mesh', 'explorer', 'networks', 'federation'] as const
export type Page = (typeof PAGES)[number]

export interface Place {
  readonly page: Page
  readonly operation: string | undefined
}

export function readPlace(hash: string): Place | undefined {
  if (!hash.startsWith('#/')) return undefined
  const [word = '', operation = ''] = hash.slice(2).split('/')
  const page = PAGES.find((each) => each === word)
  return page === undefined ? undefined : { page, operation: decodeOperation(operation) }
}

export function writePlace(page: Page, operation?: string): string {
  return `#/${page}${operation === undefined ? '' : `/${encodeURIComponent(operation)}`}`
}

function decodeOperation(text: string): string | undefined {
  return /^[A-Za-z0-9_-]+$/.test(text) ? text : undefined
}
