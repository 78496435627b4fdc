/** Just enough of Markdown to follow its links: code is text, everything else may link. */

export interface MarkdownLink {
  /** As written, for example `../flows/join.md#invite`. */
  readonly target: string
  readonly isImage: boolean
  readonly line: number
  /** Where the target begins and ends in the text. */
  readonly start: number
  readonly end: number
}

const LINK = /(!?)\[(?:[^[\]]|\[[^\]]*\])*\]\(([^()\s]+)(?:\s+"[^"]*")?\)/g

/** Links and images of a page, in their order. */
export function readLinks(markdown: string): readonly MarkdownLink[] {
  return [...blankCode(markdown).matchAll(LINK)].map((found) => {
    const target = found[2] ?? ''
    const start = found.index + found[0].indexOf(`](${target}`) + 2
    const line = markdown.slice(0, found.index).split('\n').length
    return { target, isImage: found[1] === '!', line, start, end: start + target.length }
  })
}

/** The same page with other targets; undefined leaves one as it is. */
export function replaceTargets(markdown: string, next: (link: MarkdownLink) => string | undefined): string {
  let [out, at] = ['', 0]
  for (const link of readLinks(markdown)) {
    const target = next(link) ?? link.target
    out += markdown.slice(at, link.start) + target
    at = link.end
  }
  return out + markdown.slice(at)
}

/** Headings as anchors, in the form that sites of this kind give them; a repeated one gets a number. */
export function readAnchors(markdown: string): ReadonlySet<string> {
  const found = new Set<string>()
  const times = new Map<string, number>()
  for (const [, text = ''] of blankFences(markdown).matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = slugOf(text)
    const count = times.get(slug) ?? 0
    times.set(slug, count + 1)
    found.add(count === 0 ? slug : `${slug}-${count}`)
  }
  return found
}

function slugOf(heading: string): string {
  const text = heading.trim().replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}

/** Code of both kinds becomes blanks of the same length, so that places stay where they are. */
function blankCode(markdown: string): string {
  return blankFences(markdown).replaceAll(/(`+)[^`\n](?:.*?[^`\n])?\1(?!`)/g, blank)
}

function blankFences(markdown: string): string {
  return markdown.replaceAll(/^( *)(`{3,}|~{3,}).*\n[\s\S]*?^ *\2.*$/gm, blank)
}

function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, ' ')
}
