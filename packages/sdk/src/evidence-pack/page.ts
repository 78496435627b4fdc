import { JsonError, canonicalJson, readJson } from '@chancery/protocol'
import { type EvidencePack, EvidencePackError, readPack, writePack } from './format.ts'

/** Where the page has its pack: a script that browsers do not run. */
const OPEN = '<script type="application/json" id="evidence-pack">'
const CLOSE = '</script>'

/** Returns the page with a pack in it. `template` is the page of this release, with an empty place for the pack. */
export function writePackPage(template: string, pack: EvidencePack): string {
  const parts = template.split(OPEN + CLOSE)
  if (parts.length !== 2) throw new EvidencePackError('The page has no place for a pack.')
  return parts.join(OPEN + toEmbedded(writePack(pack)) + CLOSE)
}

/** True for a text that is a page, whatever it has in it. */
export function isEvidencePage(text: string): boolean {
  return /^<!doctype html>/i.test(text)
}

/** Reads the pack of a page. Throws EvidencePackError when there is none, or its text was changed. */
export function readEvidencePage(page: string): EvidencePack {
  const [before, rest, ...more] = page.split(OPEN)
  const end = rest?.indexOf(CLOSE) ?? -1
  if (before === undefined || rest === undefined || more.length > 0 || end < 0)
    throw new EvidencePackError('This page has no evidence pack.')
  return readEmbedded(rest.slice(0, end))
}

/** Whether the text around the pack of a page is that of `template`. */
export function isPageOf(template: string, page: string): boolean {
  const start = page.indexOf(OPEN) + OPEN.length
  return page.slice(0, start) + page.slice(page.indexOf(CLOSE, start)) === template
}

/** Reads the text inside the script of a page. */
export function readEmbedded(embedded: string): EvidencePack {
  const text = toCanonical(embedded)
  if (toEmbedded(text) !== embedded)
    throw new EvidencePackError('The text of the pack was changed: it is not canonical.')
  return readPack(text)
}

/** Canonical text is ASCII. Without this sign no text of a record can end the script or begin an element. */
function toEmbedded(text: string): string {
  return text.trimEnd().replaceAll('<', String.raw`\u003c`)
}

function toCanonical(embedded: string): string {
  try {
    return `${canonicalJson(readJson(embedded))}\n`
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new EvidencePackError(`This is not an evidence pack: ${error.message}.`, { cause: error })
  }
}
