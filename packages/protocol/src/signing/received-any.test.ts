import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonValue } from '../canonical/arbitrary.suite.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { readJson } from '../canonical/read-json.ts'
import { FormError } from '../reading/schema.ts'
import type { RecordForm } from '../reading/trust-form.ts'
import * as protocol from '../index.ts'
import trust from '../vectors/trust.json' with { type: 'json' }
import { readReceived, signaturesOf, signedProjection, verifyReceived } from './received.ts'

/** Worked examples by the form that reads them. */
const FORMS: Readonly<Record<string, RecordForm<object>>> = {
  E2: protocol.trustEvidenceForm,
  E3: protocol.capabilityOfferForm,
  E10: protocol.boundaryDecisionForm,
  E11: protocol.boundaryDecisionForm,
  E12: protocol.freshnessProofForm,
  E13: protocol.justificationForm,
}
const keys = trust.keys.map(({ public_key }) => public_key)

function signedExample(name: string, form: RecordForm<object>): JsonObject {
  const found = trust.examples.find(({ example }) => example === name)
  const signatures = (found?.signatures ?? []).map(({ key_id, sig }) => ({ key_id, sig }))
  const proof: JsonObject = form.signature === 'signatures' ? { signatures } : { signature: signatures[0] ?? null }
  return { ...(readJson(found?.bytes ?? '') as JsonObject), ...proof }
}

/** Undefined when the value has not the form; any other error is a defect and passes through. */
function tryRead(form: RecordForm<object>, value: JsonValue): protocol.Received<object> | undefined {
  try {
    return readReceived(form, value)
  } catch (error) {
    if (error instanceof FormError) return undefined
    throw error
  }
}

/** A path to some place of a value, as numbers that are taken modulo what is there. */
const path = fc.array(fc.nat(63), { minLength: 1, maxLength: 4 })

function replaceAt(value: JsonValue, [step = 0, ...rest]: readonly number[], by: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null || value instanceof protocol.JsonFloat) return by
  const names = Object.keys(value)
  const name = names[step % Math.max(1, names.length)]
  if (name === undefined) return by
  const inner = (value as JsonObject)[name] as JsonValue
  const changed = rest.length === 0 ? by : replaceAt(inner, rest, by)
  if (Array.isArray(value))
    return (value as readonly JsonValue[]).map((item, at) => (String(at) === name ? changed : item))
  return { ...(value as JsonObject), [name]: changed }
}

describe.each(Object.entries(FORMS))('the form of %s', (name, form) => {
  const original = signedExample(name, form)

  it('reads any value or refuses it, and never fails otherwise', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        const received = tryRead(form, value)
        if (received !== undefined) expect(canonicalJson(signedProjection(received))).toEqual(expect.any(String))
      }),
      { numRuns: 300 },
    )
  })

  it('accepts no record that says anything else than what was signed', async () => {
    const said = canonicalJson(signedProjection(readReceived(form, original)))
    await fc.assert(
      fc.asyncProperty(path, jsonValue, async (at, by) => {
        const received = tryRead(form, replaceAt(original, at, by))
        if (received === undefined || signaturesOf(received).length === 0) return
        const isSame = canonicalJson(signedProjection(received)) === said
        const isOtherSignature =
          JSON.stringify(signaturesOf(received)) !== JSON.stringify(signaturesOf(readReceived(form, original)))
        if (isSame && isOtherSignature) return
        expect((await verifyReceived(received, keys)).ok).toBe(isSame)
      }),
      { numRuns: 300 },
    )
  })
})
