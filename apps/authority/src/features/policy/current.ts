import { CACHE_CONTROL } from '@chancery/contract'
import { defaultPolicyTerms, toUtf8 } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import { recordAudit } from '../../audit/record.ts'
import type { Office } from '../../office.ts'
import { findActivePolicy } from './store.ts'
import { publishVersion } from './versions.ts'

/**
 * GET /policy
 * The active manifest, as it was signed. The first reader of a new network causes the default one.
 */
export function current(call: Call, office: Office): Promise<KeptDocument> {
  return servePolicy(office, { request_id: call.requestId, remote_addr: call.remoteAddress })
}

/** The same for whoever is no request; `cause` is for the audit. */
export function servePolicy(office: Office, cause: JsonObject): Promise<KeptDocument> {
  return office.publicMaterial.serve(office, 'policy', {
    load: async () => {
      const text = (await findActivePolicy(office.store.db))?.policy_json ?? (await createDefault(cause, office))
      return { document: new KeptDocument(toUtf8(text), CACHE_CONTROL.publicMaterial) }
    },
  })
}

/** Of instances that race here, the first to take the head stores its version and the others serve it. */
function createDefault(cause: JsonObject, office: Office): Promise<string> {
  const { network_name, network_version } = office.genesis
  return office.store.transact(async (tx) => {
    await office.store.lockHead(tx, 'policy')
    const active = await findActivePolicy(tx)
    if (active !== undefined) return active.policy_json
    const policy_id = defaultPolicyId(network_name, network_version)
    const text = await publishVersion(tx, office, { policy_id, terms: defaultPolicyTerms(), previous: undefined })
    const details = { policy_id, previous_policy_id: null, ...cause }
    await recordAudit(tx, office, { type: 'policy_published', details })
    return text
  })
}

/** A network may have any name, a policy id may not: other characters become hyphens (docs/decisions/0007). */
function defaultPolicyId(name: string, version: string): string {
  return `policy-${name}-${version}`.replaceAll(/[^A-Za-z0-9._:-]/gu, '-').slice(0, 128)
}
