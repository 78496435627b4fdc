import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { AUDIT_EVENTS, auditEventOf, type AuditEventType } from './audit-events.ts'

const types = Object.keys(AUDIT_EVENTS) as AuditEventType[]

describe('audit events', () => {
  it('are all described in the protocol', () => {
    const folder = join(import.meta.dirname, '..', '..', '..', 'docs', 'protocol')
    const pages = readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .join('')
    const words = new Set(pages.match(/[a-z_]+/g))
    expect(types.filter((type) => !words.has(type))).toEqual([])
  })

  it('say when they are written, in one line', () => {
    for (const type of types) expect(auditEventOf(type).when, type).toMatch(/^[A-Z].*\.$/)
  })

  it('name their details once, in wire form', () => {
    for (const type of types) {
      const { details } = auditEventOf(type)
      expect(details.length, type).toBeGreaterThan(0)
      expect(new Set(details).size, type).toBe(details.length)
      for (const name of details) expect(name, type).toMatch(/^[a-z]+(_[a-z]+)*$/)
    }
  })

  it('have no place for secrets or fact values', () => {
    const forbidden = /body|signature|private|claims|parameters|attributes|token(?!_fingerprint)/
    for (const type of types) for (const name of auditEventOf(type).details) expect(name, type).not.toMatch(forbidden)
  })

  it('contain a nonce only in events about a replay', () => {
    expect(types.filter((type) => auditEventOf(type).details.includes('nonce'))).toEqual([
      'admin_auth_failed',
      'node_auth_failed',
    ])
  })
})
