import * as fc from 'fast-check'
import { JsonFloat, type JsonValue, emptyObject } from './utf8.ts'

const text: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', '\n', '\u007f', '\ue000', '\u{1f600}', '/'), maxLength: 4 }),
  fc.constantFrom('__proto__', 'constructor', 'toString', '0', '10', '9', ''),
)

const scalar: fc.Arbitrary<JsonValue> = fc.oneof(
  text,
  fc.maxSafeInteger(),
  // A bigint only where a number is not exact: the reader gives no other.
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
  fc.bigInt({ min: -(2n ** 63n), max: -(2n ** 53n) }),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => new JsonFloat(value)),
  fc.boolean(),
  fc.constant(null),
)

/** Any value the reader can give, in the form it gives it. */
export const jsonValue: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthIdentifier: 'json' },
    scalar,
    fc.array(tie('value'), { maxLength: 5, depthIdentifier: 'json' }),
    fc
      .uniqueArray(fc.tuple(text, tie('value')), { selector: ([name]) => name, maxLength: 5, depthIdentifier: 'json' })
      .map(toObject),
  ),
})).value

function toObject(members: readonly (readonly [string, JsonValue])[]): JsonValue {
  const object = emptyObject()
  for (const [name, value] of members) object[name] = value
  return object
}
