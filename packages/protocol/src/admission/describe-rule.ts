import { type AdmissionTerms, KUBERNETES_CLAIMS } from './check-rule.ts'

export interface AdmissionDescription {
  /** One sentence: which identities a rule admits, and as what. */
  readonly admits: string
  /** What makes the rule wider than it may look. */
  readonly warnings: readonly string[]
}

/** What a rule would admit, for operators. */
export function describeAdmission(rule: AdmissionTerms): AdmissionDescription {
  if (rule.kind === 'expired_certificate') return describeExpired(rule)
  const claims = Object.entries(rule.required_claims).map(([name, texts]) => `${name} = ${texts.join(' or ')}`)
  const from =
    rule.kind === 'oidc' ? `tokens of ${rule.issuer ?? ''}` : `${SVIDS[rule.kind]} of ${rule.trust_domain ?? ''}`
  const admits = `${from} with ${claims.join(', ')}; as ${rule.roles.join(', ')} for ${rule.max_validity_hours} h${boundsOf(rule)}`
  return { admits, warnings: warningsOf(rule) }
}

function describeExpired(rule: AdmissionTerms): AdmissionDescription {
  const admits = `nodes of this network whose certificate as ${rule.roles.join(', ')} expired less than ${rule.grace_hours ?? 0} h ago; for ${rule.max_validity_hours} h${boundsOf(rule)}`
  return { admits, warnings: [] }
}

function boundsOf({ max_joins, expires_at }: AdmissionTerms): string {
  const joins = max_joins === null ? '' : `, at most ${max_joins} joins`
  return expires_at === null ? joins : `${joins}, until ${expires_at}`
}

const SVIDS = { spiffe_jwt: 'JWT-SVIDs', spiffe_x509: 'X.509-SVIDs' } as const

function warningsOf(rule: AdmissionTerms): readonly string[] {
  const has = (...names: readonly string[]): boolean => names.some((name) => Object.hasOwn(rule.required_claims, name))
  const { platform } = rule
  return [
    ...(rule.audience === 'plain'
      ? ['the audience is plain: the first node key that presents a stolen token can join with it']
      : []),
    ...(platform === 'github' && !has('repository_id') ? ['every repository of the owner may join'] : []),
    ...(platform === 'github' && !has('environment', 'ref', 'job_workflow_ref', 'workflow_ref')
      ? ['every workflow and branch may join, pull requests included; add environment or ref']
      : []),
    ...(platform === 'gitlab' && !has('project_id') ? ['every project of the namespace may join'] : []),
    ...(platform === 'gitlab' && !has('ref_protected', 'environment_protected')
      ? ['every branch may join; add ref_protected = true']
      : []),
    ...(platform === 'kubernetes' && !has(KUBERNETES_CLAIMS.accountUid)
      ? ['a service account that is deleted and made again with the same name may join; add its uid']
      : []),
  ]
}
