import { Refusal } from '@chancery/contract'
import { SEVERITIES, TRUST_VERDICTS, field, form, isJsonObject, shape } from '@chancery/protocol'
import type { JsonObject, JsonValue, TrustFinding } from '@chancery/protocol'
import { readOrRefuse } from '../../requests/read-fields.ts'

const count = shape.integer(0, Number.MAX_SAFE_INTEGER)
const texts = form.listOf(shape.string)
const path = form.listOf((value) => value)

/** Unknown members are dropped: only these are signed. */
const signal = form.closedPart({
  code: form.yes(field.label),
  severity: form.yes(shape.oneOf(...SEVERITIES)),
  detail: form.yes(shape.string, ''),
})

const decision = form.closedPart({
  source_sovereign_id: form.yes(field.identifier),
  target_sovereign_id: form.yes(field.identifier),
  verdict: form.yes(shape.oneOf(...TRUST_VERDICTS)),
  reason: form.yes(shape.string, ''),
  requested_roles: form.yes(texts, []),
  trusted: form.yes(shape.boolean, false),
  hop_count: form.yes(count, 0),
  signals: form.yes(form.listOf(signal), []),
  evaluated_at: form.yes(shape.string, ''),
  // Only its type is checked: the path is not recorded.
  trust_path: form.yes(path, []),
})

export interface IssueRequest {
  readonly finding: TrustFinding
  readonly graph_digest: string | undefined
}

/** protocol/trust-operations 2.3, checks in the order of its table. */
export function readIssueRequest(body: JsonObject): IssueRequest {
  const given = body['decision']
  if (!isJsonObject(given)) throw new Refusal('missing_decision')
  return readOrRefuse('invalid_decision', () => {
    const { trust_path: _path, ...finding } = decision.read(withoutNulls(given), 'decision')
    return { finding, graph_digest: readDigest(body['graph_digest']) }
  })
}

/** Null counts as an absent member (protocol/trust-operations 1.5). */
function withoutNulls(given: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
}

function readDigest(value: JsonValue | undefined): string | undefined {
  return value === undefined || value === null ? undefined : field.digest(value, 'graph_digest')
}
