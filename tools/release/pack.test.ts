import { expect, it } from 'vitest'
import { toPublished } from './pack.ts'

const ABOUT = { name: '@chancery/authority', version: '1.0.0' }

it('publishes optional dependencies as optional peers, which npm does not install by itself', () => {
  const published = toPublished({ ...ABOUT, optionalDependencies: { pkcs11js: '2.1.7' } })
  expect(published).toEqual({
    ...ABOUT,
    peerDependencies: { pkcs11js: '^2.1.7' },
    peerDependenciesMeta: { pkcs11js: { optional: true } },
  })
})

it('keeps peers that a package declares itself', () => {
  const declared = { peerDependencies: { a: '^1.0.0' }, peerDependenciesMeta: { a: { optional: true } } }
  expect(toPublished({ ...ABOUT, ...declared })).toEqual({ ...ABOUT, ...declared })
  expect(toPublished({ ...ABOUT, ...declared, optionalDependencies: { b: '2.0.0' } })).toMatchObject({
    peerDependencies: { a: '^1.0.0', b: '^2.0.0' },
    peerDependenciesMeta: { a: { optional: true }, b: { optional: true } },
  })
})

it('adds no member to a package without peers, and takes sources out of its exports', () => {
  const exports = { '.': { development: './src/index.ts', default: './dist/index.js' } }
  expect(toPublished({ ...ABOUT, exports })).toEqual({ ...ABOUT, exports: { '.': { default: './dist/index.js' } } })
})
