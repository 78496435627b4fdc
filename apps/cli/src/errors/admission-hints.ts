import { type Hint, named, withReason } from './details.ts'

/** By the reason of a refusal. Others need no more than the reason. */
const REASONS: Readonly<Record<string, string>> = {
  rule_unavailable: 'The rule is unknown, removed, or outside its time. chancery admission list shows the rules.',
  audience_mismatch:
    'The token is for another audience. With a bound rule it must name this node key: let join ask for it (--evidence), or add a rule with --plain-audience.',
  claims_mismatch: 'The token is of another identity than the rule names. Compare with: chancery admission list',
  key_unknown: 'The issuer does not publish the key of this token. Wait a minute after a change of its keys.',
  keys_unavailable:
    'The authority cannot read the keys of the issuer. Its log has the cause; see NA_ADMISSION_ADDRESSES and NA_ADMISSION_CA_FILE.',
  expired: 'Get a new token from the platform and try again.',
  evidence_used: 'Another node key used this token, or it was used often. Get a new token from the platform.',
  not_fresh:
    'The token was made before the certificate. Get a new token from the platform; where it gives one for each job, join again.',
  joins_exhausted: 'The rule allows no more joins. An operator can add another rule.',
  algorithm_not_allowed: 'The rule does not allow the algorithm of this token. Add a rule with --algorithm.',
}

/** Refusals of joins by the word of a platform. */
export const ADMISSION_HINTS: Readonly<Record<string, Hint>> = {
  invalid_join_evidence: () =>
    'The evidence is not a token. Check the file, and the versions of program and authority.',
  evidence_refused: ({ details }) =>
    withReason(details, REASONS, 'Test the token with: chancery admission test <rule> --token-file <file>'),
  evidence_required: () =>
    'The configuration of this node names no evidence. Join again: chancery join --evidence <source> --rule <rule>',
  invalid_admission_rule: ({ details }) => `${named(details, 'field')}: ${named(details, 'problem')}.`,
  admission_rule_not_found: () => 'List the rules with: chancery admission list --removed',
}
