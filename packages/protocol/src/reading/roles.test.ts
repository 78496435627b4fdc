import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../canonical/utf8.ts'
import { FormError } from './schema.ts'
import { grantedRole, grantedRoles, isRoleAllowed } from './roles.ts'

describe('grantedRole (protocol/core 6)', () => {
  it.each(['role:client', 'role:service:index', 'role:A', 'role:0', 'role:a.b_c:d-e', `role:${'x'.repeat(64)}`])(
    'takes %s',
    (role) => {
      expect(grantedRole(role, 'f')).toBe(role)
    },
  )

  it.each<JsonValue>([
    'client',
    'role:',
    'role',
    'Role:client',
    'ROLE:client',
    ' role:client',
    'role:client ',
    'role:client\n',
    'role:.a',
    'role:-a',
    'role::a',
    'role:_a',
    'role:a b',
    'role:a/b',
    'role:a,b',
    'role:ë',
    'role:*',
    `role:${'x'.repeat(65)}`,
    '',
    null,
    7,
    ['role:client'],
    {},
  ])('refuses %j', (value) => {
    expect(() => grantedRole(value, 'f')).toThrow(FormError)
  })
})

describe('grantedRoles', () => {
  const sixteen = Array.from({ length: 16 }, (_, i) => `role:r${i}`)

  it('are at most 16 without repetition', () => {
    expect(grantedRoles(1)(sixteen, 'f')).toEqual(sixteen)
    expect(() => grantedRoles(1)([...sixteen, 'role:r16'], 'f')).toThrow('f: has too many items')
    expect(() => grantedRoles(1)(['role:a', 'role:a'], 'f')).toThrow('f: repeats an item')
    expect(() => grantedRoles(1)([], 'f')).toThrow('f: has too few items')
    expect(grantedRoles(0)([], 'f')).toEqual([])
  })
})

describe('isRoleAllowed', () => {
  it.each<[string, readonly string[], boolean]>([
    ['role:client', [], true],
    ['role:client', ['role:client'], true],
    ['role:client', ['role:anchor', 'role:client'], true],
    ['role:client', ['role:anchor'], false],
    ['role:client2', ['role:client'], false],
    ['role:client', ['role:client2'], false],
    ['role:service:index', ['role:service:*'], true],
    ['role:service:', ['role:service:*'], true],
    ['role:service', ['role:service:*'], false],
    ['role:anything', ['*'], true],
    ['role:client', ['Role:client'], false],
    ['role:aXb', ['role:a*b'], false],
  ])('%s within %j: %s', (role, allowed, expected) => {
    expect(isRoleAllowed(role, allowed)).toBe(expected)
  })
})
