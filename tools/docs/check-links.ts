import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { readAnchors, readLinks } from './markdown-links.ts'
import { documents, linkedFile } from './pages.ts'

/** Every link in the Markdown files of the repository and in the built site: its file and its anchor must exist. */

export interface BrokenLink {
  /** The page and, where there is one, the line. */
  readonly at: string
  readonly target: string
  readonly problem: string
}

export function checkMarkdownLinks(root: string): readonly BrokenLink[] {
  const files = [...documents(root), 'README.md'].filter((file) => existsSync(join(root, file)))
  const anchors = new Map<string, ReadonlySet<string>>()
  const anchorsOf = (file: string): ReadonlySet<string> => {
    const known = anchors.get(file) ?? readAnchors(readFileSync(join(root, file), 'utf8'))
    anchors.set(file, known)
    return known
  }
  return files.flatMap((file) =>
    readLinks(readFileSync(join(root, file), 'utf8')).flatMap(({ target, line }) => {
      const problem = markdownProblem(root, file, target, anchorsOf)
      return problem === undefined ? [] : [{ at: `${file}:${line}`, target, problem }]
    }),
  )
}

function markdownProblem(
  root: string,
  file: string,
  target: string,
  anchorsOf: (file: string) => ReadonlySet<string>,
): string | undefined {
  if (/^[a-z]+:/i.test(target)) return target.startsWith('https://') ? undefined : 'only https links lead outside'
  const found = linkedFile(file, target) ?? file
  if (found.startsWith('..')) return 'leads out of the repository'
  if (!existsSync(join(root, found))) return 'no such file'
  const anchor = target.split('#')[1]
  if (anchor === undefined) return undefined
  if (!found.endsWith('.md')) return 'an anchor into a file without headings'
  return anchorsOf(found).has(anchor) ? undefined : 'no such heading'
}

/** Elements that make the browser fetch by itself; all others are links that a reader follows. */
const FETCHING = new Set(['script', 'link', 'img', 'source', 'iframe', 'video', 'audio', 'object', 'embed', 'use'])

export function checkBuiltSite(folder: string): readonly BrokenLink[] {
  const pages = new Map(globSync('**/*.html', { cwd: folder }).map((file) => [file, readPage(join(folder, file))]))
  const broken = [...pages].flatMap(([file, { references }]) =>
    references.flatMap(({ tag, target }) => {
      const problem = builtProblem(folder, pages, { file, tag, target })
      return problem === undefined ? [] : [{ at: file, target, problem }]
    }),
  )
  return [...broken, ...globSync('**/*.css', { cwd: folder }).flatMap((file) => styleProblems(folder, file))]
}

interface BuiltPage {
  readonly ids: ReadonlySet<string>
  readonly references: readonly { readonly tag: string; readonly target: string }[]
}

function readPage(file: string): BuiltPage {
  // Text of a page never holds a bare angle bracket; scripts may, and link to nothing.
  const html = readFileSync(file, 'utf8').replaceAll(/(<script\b[^>]*>)[\s\S]*?<\/script>/g, '$1')
  const ids = new Set<string>()
  const references: { tag: string; target: string }[] = []
  for (const [, tag = '', attributes = ''] of html.matchAll(/<([a-z][a-z0-9-]*)\b([^>]*)>/g)) {
    for (const [, name, value = ''] of attributes.matchAll(/\s(id|href|src)="([^"]*)"/g)) {
      if (name === 'id') ids.add(decodeEntities(value))
      else references.push({ tag, target: decodeEntities(value) })
    }
  }
  return { ids, references }
}

function builtProblem(
  folder: string,
  pages: ReadonlyMap<string, BuiltPage>,
  { file, tag, target }: { readonly file: string; readonly tag: string; readonly target: string },
): string | undefined {
  if (target.startsWith('data:')) return undefined
  if (/^([a-z]+:|\/\/)/i.test(target)) return FETCHING.has(tag) ? 'fetched from elsewhere' : outsideProblem(target)
  const { pathname, hash } = new URL(target, `https://site.invalid/${file}`)
  const path = decodeURIComponent(pathname).slice(1)
  const found = path === '' || path.endsWith('/') ? posix.join(path, 'index.html') : path
  if (statSync(join(folder, found), { throwIfNoEntry: false })?.isFile() !== true) return 'no such page'
  const anchor = decodeURIComponent(hash.slice(1))
  return anchor === '' || pages.get(found)?.ids.has(anchor) !== false ? undefined : 'no such heading'
}

function outsideProblem(target: string): string | undefined {
  return target.startsWith('https://') ? undefined : 'only https links lead outside'
}

function styleProblems(folder: string, file: string): readonly BrokenLink[] {
  const text = readFileSync(join(folder, file), 'utf8')
  const urls = [...text.matchAll(/(?:url\(\s*|@import\s+)["']?((?:[a-z]+:)?\/\/[^"')\s]+)/gi)]
  return urls.map(([, target = '']) => ({ at: file, target, problem: 'fetched from elsewhere' }))
}

function decodeEntities(text: string): string {
  return text
    .replaceAll(/&#(\d+);/g, (_all, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll(/&#x([0-9a-f]+);/gi, (_all, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
}
