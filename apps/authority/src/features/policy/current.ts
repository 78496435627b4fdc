import { CACHE_CONTROL } from '@chancery/contract'
import { type JsonObject, defaultPolicyTerms, toUtf8 } from '@chancery/protocol'
import { CachedDocument, type Call } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { PolicyParts } from './parts.ts'
import { findActivePolicy } from './queries.ts'
import { publishVersion } from './versions.ts'

/**
 * GET /policy
 * Returns the active manifest, as it was signed. The first request of a new network creates the default one.
 */
export function current(call: Call, parts: PolicyParts): Promise<CachedDocument> {
  return servePolicy(parts, requestDetails(call))
}

/** Returns the active manifest outside a request. `cause` is audited. */
export function servePolicy(parts: PolicyParts, cause: JsonObject): Promise<CachedDocument> {
  return parts.publishedDocuments.serve(parts, 'policy', {
    load: async () => {
      const text = (await findActivePolicy(parts.database.read))?.policy_json ?? (await createDefault(cause, parts))
      return { document: new CachedDocument(toUtf8(text), CACHE_CONTROL.publishedDocuments) }
    },
  })
}

/** Of several concurrent instances, the first that gets the lock stores its version and the others serve it. */
function createDefault(cause: JsonObject, parts: PolicyParts): Promise<string> {
  const { network_name, network_version } = parts.network.genesis
  return parts.database.write(async (tx) => {
    await tx.lock('policy')
    const active = await findActivePolicy(tx.query)
    if (active !== undefined) return active.policy_json
    const policy_id = defaultPolicyId(network_name, network_version)
    const text = await publishVersion(tx, parts, { policy_id, terms: defaultPolicyTerms(), previous: undefined })
    const details = { policy_id, previous_policy_id: null, ...cause }
    await parts.audit.record(tx, { type: 'policy_published', details })
    return text
  })
}

/** A network may have any name, a policy id may not: other characters become hyphens (docs/decisions/0004). */
function defaultPolicyId(name: string, version: string): string {
  return `policy-${name}-${version}`.replaceAll(/[^A-Za-z0-9._:-]/gu, '-').slice(0, 128)
}
