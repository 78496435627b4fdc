/** Joins by the word of other platforms. */
export interface AdmissionTables {
  /** `rule_json` of a removed rule has no signature, so the row cannot be used again. */
  admission_rules: {
    rule_id: string
    rule_json: string
    status: 'active' | 'removed'
    joins: number
    created_at: string
    created_by: string
    removed_at: string | null
    removed_by: string | null
    removal_reason: string | null
  }
  /** Evidence until it expires: its first use binds it to a node key. */
  used_evidence: { evidence_key: string; node_public_key: string; uses: number; expires_at: string }
  /** Certificates that were issued by a rule; they are renewed by it only. */
  admitted_certs: { cert_id: string; rule_id: string; expires_at: string }
  /** Certificates of nodes that a restored database lacks. They grant nothing until an operator adopts them. */
  presented_certs: {
    cert_id: string
    node_public_key: string
    cert_json: string
    presented_at: string
    expires_at: string
    /** The address that presented it, as limits count it. */
    source: string
  }
}
