import type { JsonObject } from '@chancery/protocol'

/**
 * Values of example bodies. Text in angle brackets stands for a record, a key or a name that only the caller has. The
 * explorer shows it and replaces the times; the authority fills it in for GET /swagger.json.
 */
export const EXAMPLE_TIME = '2026-01-01T00:00:00Z'
export const EXAMPLE_LATER = '2027-01-01T00:00:00Z'

/**
 * Returns the name of the schema when a value of an example stands for a record, for example `capability-offer` for `{
 * paste: '<capability offer>' }`. A record is pasted in whole, because an invented one would be refused anyway.
 */
export function exampleRecordName(value: unknown): string | undefined {
  const paste = typeof value === 'object' && value !== null && 'paste' in value ? value.paste : undefined
  return typeof paste === 'string' ? paste.slice(1, -1).replaceAll(' ', '-') : undefined
}

export const EXAMPLE_INTENT: JsonObject = {
  policy_id: 'payments-limit',
  description: 'Payments stay below a limit.',
  valid_from: EXAMPLE_TIME,
  valid_until: EXAMPLE_LATER,
  selector: { capabilities: ['payments.transfer'] },
  gates: [
    {
      gate_id: 'limit',
      gate_type: 'max_value.v1',
      order: 1,
      mode: 'enforce',
      config: { path: 'request_parameters.amount', max: 1000 },
      disclose_input: false,
    },
  ],
}
