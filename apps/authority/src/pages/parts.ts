import { type Markup, type MarkupValue, markup } from '@chancery/service-kit'

/** The state of something: shown by a word and a shape, the colour only repeats it. */
export type Tone = 'good' | 'watch' | 'bad' | 'ended' | 'plain'

/** A word with its tone. */
export function badge(tone: Tone, word: string): Markup {
  return markup`<span class="badge badge-${tone}">${word}</span>`
}

/** The shape of a state, with a text for screen readers. */
export function mark(tone: Tone, word: string): Markup {
  return markup`<span class="badge badge-${tone}"><span class="unseen">${word}</span></span>`
}

export interface Column<Row> {
  readonly name: string
  readonly cell: (row: Row) => MarkupValue
  readonly isNumber?: true
}

/**
 * A table that becomes a list of cards on a narrow screen. `empty` is the text without rows. Rows after the first `most`
 * are folded, so that the page stays short.
 */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  empty: string,
  most: number = rows.length,
): Markup {
  if (rows.length === 0) return markup`<p class="empty">${empty}</p>`
  const rest = rows.slice(most)
  if (rest.length === 0) return allRows(caption, columns, rows)
  const more = allRows(`${caption}, more`, columns, rest)
  return markup`${allRows(caption, columns, rows.slice(0, most))}<details class="folded" data-fold="${caption}"><summary>${figure(rest.length)} more</summary>${more}</details>`
}

function allRows<Row>(caption: string, columns: readonly Column<Row>[], rows: readonly Row[]): Markup {
  const head = columns.map(({ name, isNumber }) => markup`<th scope="col"${number(isNumber)}>${name}</th>`)
  const body = rows.map(
    (row) =>
      markup`<tr>${columns.map(({ name, cell, isNumber }) => markup`<td data-label="${name}"${number(isNumber)}>${cell(row)}</td>`)}</tr>\n`,
  )
  return markup`<div class="table cards" role="region" aria-label="${caption}" tabindex="0"><table><caption>${caption}</caption><thead><tr>${head}</tr></thead><tbody>
${body}</tbody></table></div>`
}

function number(isNumber: true | undefined): Markup | undefined {
  return isNumber === true ? markup` class="num"` : undefined
}

/** A part of a page. Content that has its own edge, such as a table, is given as `flush`. */
export function panel(facts: {
  readonly title: MarkupValue
  readonly id?: string
  readonly note?: string
  readonly body?: MarkupValue
  readonly flush?: MarkupValue
  /** Set for a part that is closed until the reader opens it. Its title is then a text. */
  readonly isFolded?: boolean
}): Markup {
  const { title, id, note, body, flush } = facts
  if (facts.isFolded === true)
    return markup`<details class="panel folded" data-fold="${title}"><summary><h2>${title}</h2></summary>${flush}</details>\n`
  return markup`<section class="panel"><header><h2${id !== undefined && markup` id="${id}"`}>${title}</h2>${
    note !== undefined && markup`<p>${note}</p>`
  }</header>${body !== undefined && markup`<div class="body">${body}</div>`}${flush}</section>\n`
}

/** One figure with its name and its meaning. */
export function tile(facts: {
  readonly name: string
  readonly value: MarkupValue
  readonly note: MarkupValue
  readonly tone?: Tone
  readonly href?: string
}): Markup {
  const { name, value, note, tone = 'plain', href } = facts
  const title = href === undefined ? markup`${name}` : markup`<a href="${href}">${name}</a>`
  return markup`<div class="vital ${tone}"><h3>${title}</h3><span class="fig">${value}</span><p>${note}</p></div>\n`
}

/** A long identifier: complete for copying and machines, shortened by the style sheet where space is limited. */
export function identifier(text: string): Markup {
  return markup`<code class="id" title="${text}">${text}</code>`
}

/** A time that stays on one line. */
export function when(display: string): Markup {
  return markup`<time class="when">${display}</time>`
}

/** Number with thousands separators. */
export function figure(value: number): string {
  return String(value).replaceAll(/\B(?=(\d{3})+$)/g, '\u202f')
}

export function plural(count: number, word: string, words: string = `${word}s`): string {
  return `${figure(count)} ${count === 1 ? word : words}`
}

/** Minutes as text for people. */
export function duration(minutes: number): string {
  if (minutes < 1) return 'under a minute'
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`
}
