import { JsonError, JsonFloat, type JsonValue, readJson } from '@chancery/protocol'
import { spell } from '../../policies/policy-text.ts'

/**
 * How a field shows a value and reads what was typed. A text that does not fit is the value as it is: the draft is
 * always what the form shows, and the authority names the problem.
 */
export interface FieldText {
  write(value: JsonValue): string
  /** Undefined removes the member. */
  read(text: string): JsonValue | undefined
  /** Says which typed line is read as a text although it looks like another value. */
  findLoose?(text: string): string | undefined
}

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** Also numbers that JSON does not have, such as .5, +5, 007, 1e999, 0x10, 1,000 and 0,5. */
const NUMBER_LIKE = /^[+-]?(?:0x[0-9a-f]+|(?:[0-9][0-9_,]*(?:\.[0-9_,]*)?|[.,][0-9][0-9_]*)(?:e[+-]?[0-9]*)?)$/i

/** True for a text that a person may take for a number, a list or an object. */
const looksOther = (text: string): boolean => NUMBER_LIKE.test(text) || /^[{[]/.test(text)

/** Reads a number as the signature spells it: 90 and 90.0 are different. A number that is too large stays a text. */
const readNumber = (text: string): JsonValue | undefined => (NUMBER.test(text) ? readValue(text) : undefined)

function readValue(text: string): JsonValue | undefined {
  try {
    return readJson(text)
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

const asText = (value: JsonValue): string => (typeof value === 'string' ? value : spell(value))

export const TEXT: FieldText = { write: asText, read: (text) => text }
export const OPTIONAL_TEXT: FieldText = { write: asText, read: (text) => (text === '' ? undefined : text) }

export const NUMBER_TEXT: FieldText = {
  write: asText,
  read: (text) => (text.trim() === '' ? undefined : (readNumber(text.trim()) ?? text)),
}

export const JSON_TEXT: FieldText = {
  write: asText,
  read(text) {
    if (text.trim() === '') return undefined
    const value = readValue(text)
    return value === undefined ? text : value
  },
}

const WORDS: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ['true', true],
  ['false', false],
  ['null', null],
])

/** True for a text that a line cannot hold as it is. */
const needsQuotes = (text: string): boolean => text === '' || text !== text.trim() || /^"|[\n\r]/.test(text)

function unquote(line: string): string | undefined {
  if (!line.startsWith('"')) return undefined
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'string' ? value : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** On one line. */
const asJson = (value: JsonValue): string => spell(value).replaceAll(/\s*\n\s*/g, ' ')

function writeScalar(value: JsonValue): string {
  if (typeof value !== 'string') return asJson(value)
  return needsQuotes(value) || WORDS.has(value) || looksOther(value) ? JSON.stringify(value) : value
}

function readScalar(line: string): JsonValue {
  const text = line.trim()
  if (WORDS.has(text)) return WORDS.get(text) ?? null
  // A list or an object stays what it is: the authority refuses it here.
  return unquote(text) ?? (/^[{[]/.test(text) ? readValue(text) : readNumber(text)) ?? text
}

const isLoose = (line: string): boolean => looksOther(line.trim()) && typeof readScalar(line) === 'string'
const looseText = (name: string): string => `${name} is a text. Write it in quotes, or correct the number.`

/** A text, number, true, false or null. A text that looks like another one is in quotes. */
export const SCALAR_TEXT: FieldText = {
  write: writeScalar,
  read: (text) => (text.trim() === '' ? undefined : readScalar(text)),
  findLoose: (text) => (isLoose(text) ? looseText('This') : undefined),
}

function linesOf(write: (item: JsonValue) => string, read: (line: string) => JsonValue): FieldText {
  return {
    write: (value) => (Array.isArray(value) ? (value as readonly JsonValue[]).map(write).join('\n') : asText(value)),
    read: (text) => {
      const lines = text.split('\n').filter((line) => line.trim() !== '')
      return lines.length === 0 ? undefined : lines.map(read)
    },
  }
}

export const SCALAR_LINES: FieldText = {
  ...linesOf(writeScalar, readScalar),
  findLoose(text) {
    const at = text.split('\n').findIndex(isLoose)
    return at < 0 ? undefined : looseText(`Line ${at + 1}`)
  },
}
export const TEXT_LINES: FieldText = linesOf(
  (item) => (typeof item === 'string' && !needsQuotes(item) ? item : asJson(item)),
  (line) => unquote(line.trim()) ?? line.trim(),
)

/** True for every kind of number. */
export const isNumber = (value: JsonValue | undefined): boolean =>
  typeof value === 'number' || typeof value === 'bigint' || value instanceof JsonFloat

/** Whether two values are the same in the signed bytes. */
export function isSame(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return a === undefined || b === undefined ? a === b : spell(a) === spell(b)
}
