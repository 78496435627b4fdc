/** One page of a list, as links to the pages of its rows. */
export interface WalkPage {
  readonly hrefs: readonly string[]
  /** The cursors that lead to this page; empty for the first one. */
  readonly cursors: readonly string[]
  readonly nextCursor: string | null
}

/** The list from which the reader came. It is what was shown: rows do not move while a reader goes through them. */
export interface Walk extends WalkPage {
  /** The address of the list, with its filters. */
  readonly list: string
  /** Reads another page with the same filters. */
  readonly load: (cursors: readonly string[]) => Promise<WalkPage>
}

export const pathOf = (href: string): string => href.split('?')[0] ?? href

export const positionIn = ({ hrefs }: WalkPage, path: string): number =>
  hrefs.findIndex((href) => pathOf(href) === path)

/** What is before and after a page in its list. A place on another page of the list is read when it is wanted. */
export interface Neighbours {
  readonly hasPrevious: boolean
  readonly hasNext: boolean
}

export function neighboursOf(now: Walk | undefined, path: string): Neighbours | undefined {
  const at = now === undefined ? -1 : positionIn(now, path)
  if (now === undefined || at < 0) return undefined
  return {
    hasPrevious: at > 0 || now.cursors.length > 0,
    hasNext: at < now.hrefs.length - 1 || now.nextCursor !== null,
  }
}

/** Returns the page of the next or previous row, and the walk with it. Undefined at the end of the list. */
export async function findStep(
  now: Walk,
  path: string,
  step: -1 | 1,
): Promise<{ readonly href: string; readonly walk: Walk } | undefined> {
  const at = positionIn(now, path)
  const near = at < 0 ? undefined : now.hrefs[at + step]
  if (near !== undefined) return { href: near, walk: now }
  const cursors =
    step < 0 ? now.cursors.slice(0, -1) : now.nextCursor === null ? undefined : [...now.cursors, now.nextCursor]
  if (at < 0 || cursors === undefined || (step < 0 && now.cursors.length === 0)) return undefined
  const page = await now.load(cursors)
  const href = page.hrefs.at(step < 0 ? -1 : 0)
  return href === undefined ? undefined : { href, walk: { ...now, ...page } }
}
