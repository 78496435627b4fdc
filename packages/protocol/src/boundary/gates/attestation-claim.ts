import { type JsonValue, member } from '../../canonical/utf8.ts'
import type { Read } from '../../reading/schema.ts'
import { closed, required } from '../../reading/shape.ts'
import { matching } from '../../reading/text.ts'
import { type AttestationFacts, type Fact, findFact } from '../facts.ts'
import { type Scalar, equalScalars, isScalar } from '../engine-question.ts'
import { type FactVerdict, type GateType, MISSING, factPath, isAbsent, readConfig } from './gate.ts'
import { comparable } from './listed.ts'

const claimName = matching(/^[A-Za-z0-9_-]{1,64}$/, '1 to 64 characters of A-Z a-z 0-9 _ -')
const shape = closed({ path: required(factPath), claim: required(claimName) })
export const attestationClaimConfig: Read<unknown> = shape

/** What is asked for must be named by a claim of the attestation: the issuer's list, not the policy's. */
export const attestationClaim: GateType = {
  name: 'attestation_claim.v1',
  prepare(config) {
    const { path: at, claim } = readConfig(shape, config)
    return (facts) => {
      const fact = findFact(at, facts)
      const [outcome, text] = checkFact(fact, claimOf(facts.attestation, claim))
      return { outcome, text, path: at.text, type: fact.type, value: fact.value, condition: { claim } }
    }
  },
}

function claimOf(attestation: AttestationFacts | undefined, claim: string): JsonValue | undefined {
  return attestation === undefined ? undefined : member(attestation.claims, claim)
}

function checkFact(fact: Fact, claimed: JsonValue | undefined): FactVerdict {
  if (claimed === undefined) return ['missing_context', 'no attestation makes this claim']
  if (!Array.isArray(claimed) || !claimed.every(isScalar))
    return ['invalid_context', 'the claim is not a list of single values']
  if (isAbsent(fact)) return MISSING
  const value = comparable(fact)
  if (value === undefined) return ['invalid_context', 'the fact is not a single value']
  return (claimed as readonly Scalar[]).some((each) => equalScalars(each, value))
    ? ['pass', 'the claim names the value']
    : ['fail', 'the claim does not name the value']
}
