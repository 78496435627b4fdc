/** Reads a page without script. Enough for our own pages: their markup is well formed. */
export interface ReadPage {
  /** All text, white space folded. */
  readonly text: string
  /** Cells of the table with this caption, as text; the folded rows too. */
  rows(caption: string): readonly (readonly string[])[]
  /** The text of a figure with this name. */
  tile(name: string): string
}

export function readPage(html: string): ReadPage {
  const tables = [...html.matchAll(/<table>(.*?)<\/table>/gs)].map((match) => match[1] ?? '')
  const tiles = [...html.matchAll(/<div class="vital[^"]*">(.*?)<\/div>/gs)].map((match) => toText(match[1] ?? ''))
  return {
    text: toText(html.replace(/^.*<main/s, '<main')),
    rows(caption) {
      const body = [caption, `${caption}, more`].map((name) => bodyOf(tables, name)).join('')
      return [...body.matchAll(/<tr>(.*?)<\/tr>/gs)].map((row) =>
        [...(row[1] ?? '').matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map((cell) => toText(cell[1] ?? '')),
      )
    },
    tile(name) {
      const found = tiles.find((text) => text.startsWith(name))
      if (found === undefined) throw new Error(`no figure named ${name}`)
      return found.slice(name.length)
    },
  }
}

function bodyOf(tables: readonly string[], caption: string): string {
  const found = tables.find((table) => toText(/<caption>(.*?)<\/caption>/s.exec(table)?.[1] ?? '') === caption)
  return /<tbody>(.*?)<\/tbody>/s.exec(found ?? '')?.[1] ?? ''
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
}

function toText(html: string): string {
  return html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(?:lt|gt|quot|amp|#39);/g, (entity) => ENTITIES[entity] ?? entity)
    .replaceAll(/\s+/g, ' ')
    .trim()
}
