import { describe, expect, it } from 'vitest'
import { type ArtifactId, artifactOf, ARTIFACTS } from './artifacts.ts'

const SIGNATURES_ARRAY = [
  'join certificate',
  'genesis block',
  'policy manifest',
  'CRL',
  'membership attestation',
  'recognition treaty',
  'sovereign revocation feed',
  'agreement record',
  'capability offer',
  'capability counter',
  'agent descriptor',
  'admission rule',
  'trust evidence',
]

const SINGLE_SIGNATURE = [
  'boundary policy',
  'boundary decision',
  'data license policy',
  'data access intent',
  'retention checkpoint',
  'execution evidence',
  'freshness proof',
  'justification proof',
  'consensus proof',
  'validator vote',
  'capability commitment',
  'capability nullifier',
  'approval request',
  'approval statement',
  'store anchor',
]

const BETA = [
  'agent descriptor',
  'admission rule',
  'trust evidence',
  'consensus proof',
  'validator vote',
  'capability commitment',
  'capability nullifier',
  'approval request',
  'approval statement',
  'store anchor',
]

const ids = Object.keys(ARTIFACTS) as ArtifactId[]

function namesWhere(stored: (id: ArtifactId) => boolean): string[] {
  return ids.filter(stored).map((id) => artifactOf(id).name)
}

describe('artifacts', () => {
  it('carry a list of signatures or a single one as the protocol says', () => {
    expect(namesWhere((id) => artifactOf(id).signatureField === 'signatures')).toEqual(SIGNATURES_ARRAY)
    expect(namesWhere((id) => artifactOf(id).signatureField === 'signature')).toEqual(SINGLE_SIGNATURE)
  })

  it('are beta exactly where no promise is made', () => {
    expect(namesWhere((id) => artifactOf(id).stability === 'beta')).toEqual(BETA)
  })

  it('have their name as id', () => {
    for (const id of ids) expect(artifactOf(id).name.toLowerCase().replaceAll(' ', '-')).toBe(id)
  })
})
