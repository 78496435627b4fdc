import { ARTIFACTS, type Artifact } from '@chancery/contract'
import { SCHEMA_NAMES, type SchemaName, recordSchema, recordSection } from '@chancery/protocol'
import { code, page, section, table } from './markdown.ts'

/** docs/reference/records.md and docs/reference/schemas: every record of the protocol, from the readers that check it. */

/** The keywords our own schemas use. */
interface Schema {
  readonly title?: string
  readonly description?: string
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: false | Schema
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
  readonly default?: unknown
}

export const SCHEMA_FILES: Readonly<Record<string, () => string>> = Object.fromEntries(
  SCHEMA_NAMES.map((name) => [`schemas/${name}.json`, () => `${JSON.stringify(recordSchema(name), null, 2)}\n`]),
)

export function recordsPage(): string {
  return page(
    'Records',
    'Every record that is signed, exchanged or stored, with its members. Each has a JSON Schema (draft 2020-12), generated from the reader that checks the record. A schema checks the form of a record. It does not check signatures, the order of times or rules between members. For these checks use `chancery verify` ([offline verification](../offline-verification.md)).',
    'Members are signed with the record unless the protocol states otherwise. The last column shows which members may be omitted. Names in the column "Form" that are not JSON types are defined at the end of the schema.',
    ...SCHEMA_NAMES.map((name) => recordSectionText(name)),
  )
}

function recordSectionText(name: SchemaName): string {
  // The protocol gives plain data; these are the keywords it writes.
  const schema = recordSchema(name) as Schema
  const place = recordSection(name)
  const facts = [
    `[protocol/${place.page}](../protocol/${place.page}.md) ${place.section}`,
    `schema [${name}.json](schemas/${name}.json)`,
    signatureText(name, schema),
  ]
  return section(
    schema.title ?? name,
    schema.description ?? '',
    `${facts.join('; ')}.`,
    table(['Member', 'Form', 'Needed'], memberRows(schema, '')),
  )
}

/** Returns how the record is signed, and how stable its form is. */
function signatureText(name: SchemaName, schema: Schema): string {
  const members = Object.keys(schema.properties ?? {})
  const field = ['signatures', 'signature'].find((each) => members.includes(each))
  const known: Readonly<Record<string, Artifact>> = ARTIFACTS
  const stability = known[name]?.stability
  const signed = field === undefined ? 'has no signature' : `signed in ${code(field)}`
  return stability === undefined ? signed : `${stability}, ${signed}`
}

/** Returns one row for each member. The members of a closed object, or of a list of them, follow its row. */
function memberRows(schema: Schema, before: string): string[][] {
  const properties = schema.properties ?? {}
  const needed = new Set(schema.required)
  return Object.entries(properties).flatMap(([name, member]) => {
    const place = `${before}${name}`
    const inner = insideOf(member)
    const row = [code(place), formOf(member), needed.has(name) ? 'yes' : absence(member)]
    return inner === undefined ? [row] : [row, ...memberRows(inner.schema, `${place}${inner.mark}`)]
  })
}

function insideOf(schema: Schema): { readonly schema: Schema; readonly mark: string } | undefined {
  const [first] = schema.anyOf ?? []
  if (first !== undefined) return insideOf(first)
  if (schema.properties !== undefined) return { schema, mark: '.' }
  const { items } = schema
  return items?.properties === undefined ? undefined : { schema: items, mark: '[].' }
}

function absence(schema: Schema): string {
  return schema.default === undefined ? 'no' : `no, then ${code(JSON.stringify(schema.default))}`
}

function formOf(schema: Schema): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map((each) => formOf(each)).join(' or ')
  if (schema.allOf !== undefined) return schema.allOf.map((each) => formOf(each)).join(' and ')
  if (schema.$ref !== undefined) return (schema.$ref.split('/').at(-1) ?? '').replaceAll('_', ' ')
  if (schema.enum !== undefined) return schema.enum.map((word) => code(word)).join(', ')
  const types = [schema.type].flat().join(' or ')
  return [types, boundsOf(schema)].filter((part) => part !== '').join(', ')
}

function boundsOf(schema: Schema): string {
  const { items, additionalProperties: each } = schema
  const parts = [
    range(schema.minLength, schema.maxLength, 'characters'),
    range(schema.minItems, schema.maxItems, 'items'),
    range(schema.minimum, schema.maximum, ''),
    items === undefined || items.properties !== undefined ? '' : `each: ${formOf(items)}`,
    typeof each === 'object' ? `each: ${formOf(each)}` : '',
    schema.maxLength === undefined && schema.pattern !== undefined ? code(schema.pattern) : '',
  ]
  return parts.filter((part) => part !== '').join(', ')
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  const isOpen = most === undefined || most === Number.MAX_SAFE_INTEGER
  if (least === Number.MIN_SAFE_INTEGER || (least === undefined && isOpen)) return ''
  if (isOpen) return `from ${least}`
  return `${least === undefined ? 'up to' : `${least} to`} ${most} ${unit}`.trim()
}
