import type { JsonObject } from '@chancery/protocol'

/** A rule whose keys are read from nowhere: for tests of the rule itself. */
export const ruleTerms = (rule_id: string, members: JsonObject = {}): JsonObject => ({
  rule_id,
  kind: 'oidc',
  issuer: 'https://issuer.invalid',
  jwks_url: 'https://issuer.invalid/jwks',
  required_claims: { project_id: ['42'] },
  ...members,
})
