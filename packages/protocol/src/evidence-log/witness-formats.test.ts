import { describe, expect, it } from 'vitest'
import { toBase64 } from '../canonical/base64.ts'
import { sha256, toHex } from '../canonical/digest.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import { verifySignature } from '../signing/keys.ts'
import { type WitnessedLog, judgeCheckpoint, readAddCheckpoint, writeAddCheckpoint } from './add-checkpoint.ts'
import {
  cosignNote,
  readCheckpointText,
  readLogKey,
  readNote,
  readWitnessKey,
  signCheckpoint,
  writeLogKey,
  writeNote,
  writeWitnessKey,
} from './note.ts'
import { LogPolicyError, applyLogPolicy, readLogPolicy, writeLogPolicy } from './policy.ts'
import { leaves, nodes, signer } from './small-tree.suite.ts'
import { consistencyProof, treeRoot } from './tree.ts'

describe('published notes and keys of other logs', () => {
  // The example of the package golang.org/x/mod/sumdb/note, which C2SP signed-note describes.
  const key = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'
  const note =
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n" +
    '\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n'

  it('are read: the key, its id, and the signature over the text', async () => {
    const { name, publicKey } = readLogKey(key) ?? { name: '', publicKey: '' }
    expect(name).toBe('PeterNeumann')
    const read = readNote(note)
    const [line] = read?.signatures ?? []
    expect(toHex(line?.keyHash ?? new Uint8Array())).toBe('c74f20a3')
    expect(
      await verifySignature(publicKey, toUtf8(read?.text ?? ''), toBase64(line?.signature ?? new Uint8Array())),
    ).toBe(true)
    expect(
      await verifySignature(publicKey, toUtf8('another text\n'), toBase64(line?.signature ?? new Uint8Array())),
    ).toBe(false)
  })

  it.each([
    'sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8',
    'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  ])('the key id of %s follows from name, type and key', (text) => {
    const read = readLogKey(text)
    expect(read === undefined ? undefined : writeLogKey(read)).toBe(text)
    expect(readWitnessKey(text)).toBeUndefined()
    for (const wrong of [text.replace('+A', '+B'), `x${text}`, text.replace('+0', '+1').replace('+c', '+d')])
      expect(readLogKey(wrong), wrong).toBeUndefined()
  })

  it('take the example request of C2SP tlog-witness, and write it unchanged', () => {
    const body = [
      'old 20852014',
      'PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=',
      'jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=',
      '5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=',
      '/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=',
      '',
      'example.com/behind-the-sofa',
      '20852163',
      'CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=',
      '',
      '\u2014 example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=',
      '\u2014 example.com/behind-the-sofa opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlCum2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=',
      '',
    ].join('\n')
    const read = readAddCheckpoint(body)
    if (read === undefined) throw new Error('the example is read')
    expect([read.oldSize, read.proof.length]).toEqual([20_852_014, 4])
    expect(writeAddCheckpoint(read)).toBe(body)
    const note = readNote(read.checkpoint)
    expect(note?.signatures.map(({ name, keyHash }) => `${name} ${toHex(keyHash)}`)).toEqual([
      'example.com/behind-the-sofa 033de0ae',
      'example.com/behind-the-sofa a292ea05',
    ])
    expect(readCheckpointText(note?.text ?? '')?.size).toBe(20_852_163)
  })

  it('keep a note with a line of another type, and refuse control characters and spaces in names', () => {
    const text = 'o\n1\nAAAA\n'
    const line = `\u2014 w.example ${toBase64(new Uint8Array(4 + 2420).fill(1))}\n`
    expect(readNote(`${text}\n${line}`)?.signatures[0]?.signature.length).toBe(2420)
    for (const wrong of [`o\t\n\n${line}`, `o\r\n\n${line}`, `${text}\n${line.replace('w.e', 'w\u00a0e')}`])
      expect(readNote(wrong), JSON.stringify(wrong)).toBeUndefined()
    expect(readNote(`${text}\n${line.replace('w.e', 'w+e')}`)).toBeUndefined()
  })
})

describe('a request to a witness', () => {
  const origin = 'na.example.org/evidence-log'
  const grown = leaves(300)

  async function ask(
    {
      size,
      old,
      from = grown,
      proofFrom = old,
    }: { size: number; old: number; from?: readonly Uint8Array[]; proofFrom?: number },
    last: { size: number; from?: readonly Uint8Array[] } | undefined,
    changes: { keys?: readonly string[]; origin?: string; sign?: Awaited<ReturnType<typeof signer>> } = {},
  ) {
    const key = await signer('na', 7)
    const root = await treeRoot(size, nodes(from.slice(0, size)))
    const checkpoint = await signCheckpoint({ origin, size, root }, changes.sign ?? key)
    const proof = await consistencyProof(Math.min(proofFrom, size), size, nodes(from.slice(0, size)))
    const known: WitnessedLog = {
      keys: changes.keys ?? [key.publicKey],
      last:
        last === undefined
          ? undefined
          : {
              origin,
              size: last.size,
              root: await treeRoot(last.size, nodes((last.from ?? grown).slice(0, last.size))),
            },
    }
    return judgeCheckpoint(writeAddCheckpoint({ oldSize: old, proof, checkpoint }), (name) =>
      name === (changes.origin ?? origin) ? known : undefined,
    )
  }

  it.each([
    ['the first', { size: 5, old: 0 }, undefined, 'cosign'],
    ['a larger one', { size: 300, old: 10 }, { size: 10 }, 'cosign'],
    ['the same again', { size: 10, old: 10 }, { size: 10 }, 'cosign'],
    ['an old size above the checkpoint', { size: 10, old: 11 }, { size: 11 }, 'malformed'],
    ['another old size', { size: 12, old: 3 }, { size: 10 }, 'conflict'],
    ['a smaller log', { size: 8, old: 8 }, { size: 10 }, 'conflict'],
    ['the same size with another root', { size: 10, old: 10, from: leaves(300, 'x') }, { size: 10 }, 'conflict'],
    ['a fork that grew', { size: 30, old: 10, from: leaves(300, 'x') }, { size: 10 }, 'wrong_proof'],
    ['a proof from another size', { size: 30, old: 10, proofFrom: 9 }, { size: 10 }, 'wrong_proof'],
  ] as const)('%s', async (_name, request, last, kind) => {
    expect((await ask(request, last)).kind).toBe(kind)
  })

  it('names the size of the witness, and a fork of that size', async () => {
    expect(await ask({ size: 12, old: 3 }, { size: 10 })).toEqual({ kind: 'conflict', size: 10, isFork: false })
    expect(await ask({ size: 10, old: 0, from: leaves(300, 'x') }, { size: 10 })).toEqual({
      kind: 'conflict',
      size: 10,
      isFork: true,
    })
  })

  it('is refused for another log, another key, and too many lines', async () => {
    const other = await signer('other', 8)
    expect((await ask({ size: 5, old: 0 }, undefined, { origin: 'other.example' })).kind).toBe('unknown_origin')
    expect((await ask({ size: 5, old: 0 }, undefined, { sign: other })).kind).toBe('untrusted')
    expect((await ask({ size: 5, old: 0 }, undefined, { keys: [] })).kind).toBe('untrusted')
    const hash = toBase64(new Uint8Array(32))
    const tail = '\n\no\n1\nAAAA\n\n\u2014 o AAAAAAAA\n'
    expect(readAddCheckpoint(`old 1\n${`${hash}\n`.repeat(62)}${hash}${tail}`)?.proof.length).toBe(63)
    expect(readAddCheckpoint(`old 1\n${`${hash}\n`.repeat(63)}${hash}${tail}`)).toBeUndefined()
    for (const first of ['old 01', 'old -1', 'old', 'old 1 ', 'Old 1', 'old 1e3'])
      expect(readAddCheckpoint(`${first}${tail}`), first).toBeUndefined()
    expect(readAddCheckpoint(`old 1\nAAAA${tail}`)).toBeUndefined()
  })
})

describe('a policy of logs and witnesses', () => {
  it('counts groups, and refuses unknown, repeated and later names', async () => {
    const log = await signer('na.example.org/evidence-log', 7)
    const [a, b, c] = [await signer('a.example', 1), await signer('b.example', 2), await signer('c.example', 3)]
    const keys = [a, b, c].map((each) => writeWitnessKey({ name: each.keyId, publicKey: each.publicKey }))
    const logKey = writeLogKey({ name: log.keyId, publicKey: log.publicKey })
    const text = writeLogPolicy([logKey], keys, 2)
    const policy = readLogPolicy(`# for auditors\n${text}`)
    const root = sha256(new Uint8Array())
    const note = readNote(await signCheckpoint({ origin: log.keyId, size: 0, root }, log))
    if (note === undefined) throw new Error('a note is read')
    const one = await cosignNote(note, a, 1_700_000_000)
    const two = await cosignNote(one, c, 1_700_000_001)
    expect((await applyLogPolicy(writeNote(one), policy))?.hasQuorum).toBe(false)
    expect(await applyLogPolicy(writeNote(two), policy)).toMatchObject({
      hasQuorum: true,
      cosigners: ['a.example', 'c.example'],
    })
    // The same witness twice is one.
    const twice = await cosignNote(one, a, 1_700_000_001)
    expect((await applyLogPolicy(writeNote(twice), policy))?.hasQuorum).toBe(false)
    const others = readLogPolicy(writeLogPolicy([writeLogKey({ name: log.keyId, publicKey: a.publicKey })], keys, 0))
    expect(await applyLogPolicy(writeNote(two), others)).toBeUndefined()
    const wrong = [
      text.replace('quorum witnesses\n', ''),
      `${text}quorum witnesses\n`,
      text.replace('witness-2 ', 'witness-1 '),
      text.replace('group witnesses 2', 'group witnesses 4'),
      text.replace('group witnesses 2', 'group witnesses 0'),
      `quorum witnesses\n${text}`,
      `${text}group more any witness-1\n`,
      `${text}hello\n`,
      text.replace(keys[1] ?? '', keys[0] ?? ''),
    ]
    for (const each of wrong) expect(() => readLogPolicy(each), each).toThrow(LogPolicyError)
    expect(readLogPolicy(`log ${logKey}\n`, { needsQuorum: false }).logs).toHaveLength(1)
  })
})
