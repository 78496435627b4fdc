import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { readLinks, replaceTargets } from './markdown-links.ts'

/** What the documentation site shows, and where. Pages are the files of the repository themselves; nothing is copied. */

const ROOT = join(import.meta.dirname, '..', '..')

/** Pages that belong to the repository as a whole. */
const PROJECT_PAGES: Readonly<Record<string, string>> = {
  'CHANGELOG.md': 'project/changelog',
  'CODE_OF_CONDUCT.md': 'project/code-of-conduct',
  'CONTRIBUTING.md': 'project/contributing',
  'GOVERNANCE.md': 'project/governance',
  'SECURITY.md': 'project/security',
  'VERSIONING.md': 'project/versioning',
}

export interface SitePage {
  /** The address without its slashes: `operate/keys`. */
  readonly id: string
  readonly title: string
  readonly description: string
  readonly body: string
  /** Below the repository. */
  readonly file: string
  /** Sources of the repository would bury everything else in the results of a search. */
  readonly isSearched: boolean
}

/** The repository, and the address below which the site is served. */
interface Place {
  readonly root: string
  readonly base: string
}

/** Every page of the site. Files that pages link to become pages too, so that every link stays on the site. */
export function sitePages(root: string = ROOT, base = ''): readonly SitePage[] {
  const place: Place = { root, base: base.replace(/\/$/, '') }
  const pages = documents(root).map((file) => markdownPage(place, file))
  const linked = new Set(documents(root).flatMap((file) => linkedSources(root, file)))
  for (const each of linked) for (const inner of filesBelow(root, each)) linked.add(inner)
  return [...pages, ...[...linked].toSorted().map((file) => sourcePage(place, file))]
}

/** The Markdown files the site shows, as paths below the repository. */
export function documents(root: string = ROOT): readonly string[] {
  const project = Object.keys(PROJECT_PAGES).filter((file) => existsSync(join(root, file)))
  return [...globSync('docs/**/*.md', { cwd: root }).toSorted(), ...project]
}

/** The address of a file or folder of the repository: `/operate/keys/`. */
export function addressOf(file: string, root: string = ROOT): string {
  const project = PROJECT_PAGES[file]
  if (project !== undefined) return `/${project}/`
  if (file === 'README.md' || file === 'docs/index.md') return '/'
  if (file.startsWith('docs/') && file.endsWith('.md'))
    return `/${file.slice('docs/'.length).replace(/(?:\/index)?\.md$/, '')}/`
  if (file.startsWith('docs/reference/schemas/') && file.endsWith('.json')) return `/${file.slice('docs/'.length)}`
  if (isFolder(root, file)) return `/source/${file}/`
  // A dot in the last part of an address would make servers look for a file of that kind.
  return `/source/${file.replaceAll('.', '-')}/`
}

/** The path below the repository that a link of `file` means; undefined for a link to elsewhere or into the page. */
export function linkedFile(file: string, target: string): string | undefined {
  if (/^[a-z]+:/i.test(target) || target.startsWith('#')) return undefined
  const [path = ''] = target.split('#')
  return posix.normalize(posix.join(posix.dirname(file), decodeURIComponent(path))).replace(/\/$/, '')
}

function linkedSources(root: string, file: string): readonly string[] {
  return readLinks(readFileSync(join(root, file), 'utf8')).flatMap(({ target, isImage }) => {
    const found = linkedFile(file, target)
    return found === undefined || isImage || !addressOf(found, root).startsWith('/source/') ? [] : [found]
  })
}

function filesBelow(root: string, file: string): readonly string[] {
  if (!isFolder(root, file)) return []
  return globSync('**/*', { cwd: join(root, file) })
    .filter((each) => !/(^|\/)(node_modules|dist)(\/|$)/.test(each))
    .map((each) => posix.join(file, each))
}

function isFolder(root: string, file: string): boolean {
  return statSync(join(root, file), { throwIfNoEntry: false })?.isDirectory() === true
}

function markdownPage(place: Place, file: string): SitePage {
  const { root } = place
  const text = readFileSync(join(root, file), 'utf8')
  const heading = /^# (.+)$/m.exec(text)
  if (heading === null) throw new Error(`${file} has no heading of the first level`)
  const body = text.slice(heading.index + heading[0].length)
  return {
    id: addressOf(file, root).slice(1, -1) || 'index',
    title: plain(heading[1] ?? ''),
    description: firstSentence(body),
    body: withDrawings(root, file, withAddresses(place, file, body)),
    file,
    isSearched: true,
  }
}

function withAddresses({ root, base }: Place, file: string, body: string): string {
  return replaceTargets(body, ({ target, isImage }) => {
    const found = linkedFile(file, target)
    if (found === undefined || isImage) return undefined
    const [, anchor] = target.split('#')
    return `${base}${addressOf(found, root)}${anchor === undefined ? '' : `#${anchor}`}`
  })
}

/** Drawings stand in the page itself, so that they take its colours. Their own colours are for readers of the file. */
function withDrawings(root: string, file: string, body: string): string {
  return body.replaceAll(/^!\[([^\]]+)\]\(([^)\s]+\.svg)\)$/gm, (_all, label: string, target: string) => {
    const drawing = readFileSync(join(root, dirname(file), target), 'utf8')
    const inside = drawing.replace(/<\?xml.*\?>/, '').replace(/<style>[\s\S]*?<\/style>/, '')
    // One line: an empty line would end the block for the Markdown reader. Reached by keyboard: it may have to be scrolled.
    const flat = inside.trim().replaceAll(/\s*\n\s*/g, ' ')
    return `<figure class="drawing" tabindex="0">${flat.replace('<svg ', `<svg role="img" aria-label="${escapeHtml(label)}" `)}</figure>`
  })
}

function sourcePage({ root, base }: Place, file: string): SitePage {
  const facts = { id: addressOf(file, root).slice(1, -1), title: file, file, isSearched: false }
  if (isFolder(root, file)) {
    const inside = filesBelow(root, file).filter((each) => posix.dirname(each) === file)
    const lines = inside.map((each) => `- [${posix.basename(each)}](${base}${addressOf(each, root)})`)
    return { ...facts, description: `The folder ${file} of the repository.`, body: lines.join('\n') }
  }
  const text = readFileSync(join(root, file), 'utf8').trimEnd()
  const body = `\`\`\`\`${LANGUAGES[file.split('.').at(-1) ?? ''] ?? 'text'}\n${text}\n\`\`\`\``
  return { ...facts, description: `The file ${file} of the repository.`, body }
}

const LANGUAGES: Readonly<Record<string, string>> = {
  ts: 'ts',
  mjs: 'js',
  yaml: 'yaml',
  json: 'json',
  service: 'ini',
  md: 'md',
}

/** For the head of the page and for search results. */
function firstSentence(body: string): string {
  const paragraph = body.split(/\n\s*\n/).find((each) => /^[A-Z«"`\d]/.test(each.trim())) ?? ''
  const [sentence = ''] = plain(paragraph.replaceAll('\n', ' ')).split(/(?<=[.:?!])\s/)
  return sentence.length > 200 ? `${sentence.slice(0, 199)}…` : sentence
}

function plain(text: string): string {
  return text
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .trim()
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}

/** The files that decide what the site shows; the preview watches them. */
export function isShown(file: string, root: string = ROOT): boolean {
  const path = relative(root, file)
  return path.startsWith('docs/') || Object.hasOwn(PROJECT_PAGES, path)
}
