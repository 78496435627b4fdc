import { expect, it } from 'vitest'
import { GATE_TYPE_NAMES, gateConfigSchemas } from './registry.ts'

it('has the schema of every gate type, closed and with its required members', () => {
  const schemas = gateConfigSchemas()
  expect([...schemas.keys()]).toEqual(GATE_TYPE_NAMES)
  for (const schema of schemas.values()) expect(schema).toMatchObject({ type: 'object', additionalProperties: false })
  expect(schemas.get('max_value.v1')).toEqual({
    type: 'object',
    properties: {
      path: { type: 'string', format: 'fact-path' },
      max: { type: 'number' },
      inclusive: { type: 'boolean', default: true },
    },
    required: ['path', 'max'],
    additionalProperties: false,
  })
})
