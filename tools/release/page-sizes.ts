/**
 * Sizes of what a page of the operator console loads, as sent to a browser. A page loads the style sheet, the core, its
 * own script and what these import. Drawers, the verification of records and other parts follow on demand.
 */
export interface BuiltScript {
  readonly name: string
  readonly imports: readonly string[]
  readonly dynamicImports: readonly string[]
  /** The name of the folder for the script of a page. */
  readonly page: string | undefined
}

export interface PageSize {
  readonly page: string
  /** Before its content is shown. */
  readonly bytes: number
  /** With everything that it can load on demand. */
  readonly mostBytes: number
}

/** In bytes. `all`: what one page can load, with its drawers, the editor and the verification of records. */
export const PAGE_LIMITS = { page: 60 * 1024, all: 110 * 1024 } as const

export function measurePages(
  scripts: readonly BuiltScript[],
  sizes: ReadonlyMap<string, number>,
  first: readonly string[],
): readonly PageSize[] {
  const byName = new Map(scripts.map((script) => [script.name, script]))
  const reach = (names: readonly string[], hasDemand: boolean): ReadonlySet<string> => {
    const found = new Set<string>()
    const visit = (name: string): void => {
      if (found.has(name)) return
      found.add(name)
      const script = byName.get(name)
      for (const each of script?.imports ?? []) visit(each)
      // The core can load every page; another page is not a part of this one.
      if (!hasDemand || first.includes(name)) return
      for (const each of script?.dynamicImports ?? []) visit(each)
    }
    names.forEach(visit)
    return found
  }
  const sum = (names: ReadonlySet<string>): number => [...names].reduce((all, name) => all + (sizes.get(name) ?? 0), 0)
  const onDemand = first.flatMap((name) =>
    (byName.get(name)?.dynamicImports ?? []).filter((each) => byName.get(each)?.page === undefined),
  )
  return scripts.flatMap(({ name, page }) =>
    page === undefined
      ? []
      : [
          {
            page,
            bytes: sum(reach([...first, name], false)),
            mostBytes: sum(reach([...first, ...onDemand, name], true)),
          },
        ],
  )
}

/** Fails when a page exceeds a limit. */
export function checkPages(pages: readonly PageSize[]): void {
  if (pages.length === 0) throw new Error('No page was built.')
  for (const { page, bytes, mostBytes } of pages) {
    if (bytes > PAGE_LIMITS.page)
      throw new Error(`The page ${page} loads ${bytes} bytes. Its limit is ${PAGE_LIMITS.page}.`)
    if (mostBytes > PAGE_LIMITS.all)
      throw new Error(`The page ${page} can load ${mostBytes} bytes in all. Its limit is ${PAGE_LIMITS.all}.`)
  }
}
