import { gateConfigSchemas } from '@chancery/protocol'
import { expect, it } from 'vitest'
import { GATE_WORDS } from '../../../words/gates.ts'
import { type FieldKind, GATE_FIELDS } from './gate-fields.ts'

interface Schema {
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly enum?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly default?: unknown
}
interface Expected {
  readonly name: string
  readonly kind: FieldKind
  readonly isOptional: boolean
}

function kindOf({ type, format, items, anyOf }: Schema): FieldKind {
  // A list, or a word that an empty field means. Other choices are of objects.
  if (anyOf !== undefined) return anyOf.some((each) => each.type === 'array') ? 'texts' : 'json'
  if (Array.isArray(type)) return 'scalar'
  if (type === 'array') {
    if (items?.enum !== undefined) return 'words'
    if (Array.isArray(items?.type)) return 'scalars'
    return items?.type === 'object' || items?.anyOf !== undefined
      ? 'json'
      : items?.type === 'integer'
        ? 'days'
        : 'texts'
  }
  if (type === 'object') return 'json'
  if (type === 'boolean') return 'yes'
  if (type === 'number' || type === 'integer') return 'number'
  return format === 'fact-path' ? 'path' : format === 'date-time' ? 'time' : 'text'
}

/** One field for each member that has no members itself. */
function expectedFields({ properties = {}, required = [] }: Schema, prefix = '', isOptional = false): Expected[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const isLeft = isOptional || !required.includes(name)
    return schema.properties === undefined
      ? [{ name: prefix + name, kind: kindOf(schema), isOptional: isLeft }]
      : expectedFields(schema, `${prefix}${name}.`, isLeft)
  })
}

it('has exactly the members of each gate type, with their types, as the protocol reads them', () => {
  const schemas = gateConfigSchemas() as ReadonlyMap<string, Schema>
  expect(Object.keys(GATE_FIELDS).toSorted()).toEqual([...schemas.keys()].toSorted())
  for (const [gateType, fields] of Object.entries(GATE_FIELDS)) {
    const own = fields.map(({ name, kind, isOptional }) => ({ name, kind, isOptional: isOptional === true }))
    expect(own, gateType).toEqual(expectedFields(schemas.get(gateType) ?? {}))
  }
})

it('shows the default of a yes or no field, the choices of a list, and a sentence for each type', () => {
  const schemas = gateConfigSchemas() as ReadonlyMap<string, Schema>
  for (const [gateType, fields] of Object.entries(GATE_FIELDS)) {
    expect(Object.keys(GATE_WORDS)).toContain(gateType.replace(/\.v[0-9]+$/, ''))
    for (const { name, kind, isYes, choices, words } of fields) {
      const schema = schemas.get(gateType)?.properties?.[name]
      if (kind === 'yes') expect(isYes === true, `${gateType} ${name}`).toBe(schema?.default)
      // As a tick, an empty one would look like a value that is not checked.
      if (name === 'expected') expect(words).toEqual(['must be true', 'must be false'])
      if (kind === 'words') expect(choices).toEqual(schema?.items?.enum)
    }
  }
})
