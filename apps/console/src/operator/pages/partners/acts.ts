import type { JsonObject } from '@chancery/protocol'
import { plain } from '../../../components/plain.ts'
import { at } from '../../client.ts'
import type { Act, ActField, Values } from '../../signing/act.ts'
import { checkGenesis, givenRootKey, isFingerprint, keysOf, readGenesis, textOf } from './material.ts'
import { partnerHref } from './links.ts'
import { SCOPE_FIELDS, TERM_FIELDS, scopeOf, termEnd, termHours } from './terms.ts'

const GENESIS: ActField = {
  name: 'genesis',
  label: 'Its genesis block',
  kind: 'file',
  hint: 'The file from /genesis of the partner.',
}
const GIVEN: ActField = {
  name: 'given',
  label: 'Its root key or fingerprint, received another way',
  kind: 'text',
  isMono: true,
  hint: 'By telephone, by post or in a signed message. Never from the same address.',
}

const KEYS: ActField = {
  name: 'keys',
  label: 'Its authority keys, received another way',
  kind: 'text',
  isMono: true,
  hint: '44 characters of base64 each, separated by spaces.',
}

const isByKey = (values: Values): boolean => values['how'] === 'key'

/** Signs the first treaty with a network, from its genesis block or from keys received another way. */
export const recogniseAct: Act = {
  name: 'recognise',
  title: 'Recognise a partner',
  sentence: 'Signs a treaty: members of this network are accepted here, within these limits.',
  button: 'Sign the treaty',
  isPrivileged: true,
  fields: [
    {
      name: 'how',
      label: 'You have',
      kind: 'few',
      initial: 'genesis',
      choices: [
        { value: 'genesis', text: 'Its genesis block' },
        { value: 'key', text: 'Its authority key' },
      ],
    },
    { ...GENESIS, isShown: (values) => !isByKey(values) },
    { ...GIVEN, isShown: (values) => !isByKey(values) },
    { name: 'name', label: 'Name of its network', kind: 'text', placeholder: 'FJORD-BANK', isShown: isByKey },
    { ...KEYS, isShown: isByKey },
    ...SCOPE_FIELDS(['role:client'], ['active']),
    ...TERM_FIELDS,
  ],
  async check(values) {
    if (!isByKey(values)) await checkGenesis(values['given'], values['genesis'])
  },
  requests(values) {
    const { name, keys } = subjectOf(values)
    const body = {
      subject_sovereign_id: name,
      subject_public_keys: keys,
      scope: scopeOf(values),
      validity_hours: termHours(values),
    }
    return [{ target: at`/admin/recognition-treaties`, body, isRepeatable: true }]
  },
  effects: (values) => [
    {
      shape: 'tick',
      tone: 'good',
      text: isByKey(values)
        ? 'The treaty names exactly the keys that you entered'
        : 'The key you were given is the key that signed this genesis block',
      more: isByKey(values) ? 'The console cannot check them.' : 'Checked in this browser.',
    },
    {
      shape: 'circle',
      tone: 'good',
      text: `Members of ${nameOf(values)} are accepted until ${termEnd(values)}`,
      more: `With ${scopeOf(values).allowed_roles.join(', ')}, when their attestation is ${scopeOf(values).accepted_statuses.join(', ')}.`,
    },
    {
      shape: 'dash',
      tone: 'ended',
      text: 'Its revocations are not read by this',
      more: 'Add the partner too, or import its feed on its page.',
    },
  ],
  done: (_answers, values) => ({
    toast: {
      text: `${nameOf(values)} is recognised.`,
      link: { href: partnerHref(nameOf(values)), text: 'Open' },
    },
  }),
  unknown: { text: 'A treaty may exist.', href: '/operator/partners?tab=treaties', link: 'Treaties' },
}

function subjectOf(values: Values): { readonly name: string; readonly keys: string[] } {
  if (!isByKey(values)) {
    const { network_name: name, network_authority } = readGenesis(values['genesis'])
    return { name, keys: [network_authority.public_key] }
  }
  const name = textOf(values, 'name')
  if (name === '') throw new Error('Give the name of its network.')
  return { name, keys: keysOf(values['keys']) }
}

const nameOf = (values: Values): string =>
  isByKey(values) ? textOf(values, 'name') : readGenesis(values['genesis']).network_name

/** Adds a network whose published material the authority then reads. */
export const addAct: Act = {
  name: 'add',
  title: 'Add a partner',
  sentence: 'The authority reads its published material from now on. This recognises no member: only a treaty does.',
  button: 'Sign and add it',
  isPrivileged: true,
  fields: [
    { name: 'url', label: 'Address of its authority', kind: 'text', placeholder: 'https://na.fjord-bank.example' },
    {
      name: 'how',
      label: 'You have',
      kind: 'few',
      initial: 'root',
      choices: [
        { value: 'root', text: 'Its root key' },
        { value: 'key', text: 'Its authority keys' },
      ],
    },
    { ...GIVEN, isShown: (values) => !isByKey(values) },
    { ...GENESIS, isShown: (values) => !isByKey(values) && isFingerprint(values['given'] ?? '') },
    { ...KEYS, isShown: isByKey },
    {
      name: 'import_feeds',
      label: 'Its revocations',
      kind: 'few',
      initial: 'on',
      choices: [
        { value: 'on', text: 'Import' },
        { value: 'off', text: 'Read only' },
      ],
    },
    { name: 'interval_seconds', label: 'Time between two pulls, seconds', kind: 'number', initial: '300' },
    { name: 'label', label: 'Label', kind: 'text', isOptional: true, hint: 'A name for operators.' },
    {
      name: 'allow_http',
      label: 'Transport',
      kind: 'few',
      initial: 'no',
      choices: [
        { value: 'no', text: 'https' },
        { value: 'yes', text: 'http' },
      ],
      isShown: (values) => textOf(values, 'url').startsWith('http:'),
      hint: 'Plain http is for addresses inside your own network only.',
    },
  ],
  requests: (values) => [{ target: at`/admin/partners`, body: addBody(values), isRepeatable: true }],
  effects: (values) => [
    {
      shape: 'tick',
      tone: 'good',
      text: `The authority reads ${textOf(values, 'url')} now, and stops when another key responds`,
      more: isByKey(values)
        ? `Records there must have the signature of ${keysOf(values['keys']).join(' or ')}.`
        : `The genesis block there must have the signature of ${givenRootKey(values['given'], values['genesis'])}.`,
    },
    values['import_feeds'] === 'on'
      ? { shape: 'circle', tone: 'good', text: 'Members that it revokes are refused here from the next pull on' }
      : { shape: 'dash', tone: 'ended', text: 'Its revocations are shown and not imported' },
  ],
  done: ([answer]) => {
    const id = plain(answer?.['sovereign_id'])
    return { toast: { text: `Added ${id}.`, link: { href: partnerHref(id), text: 'Open' } } }
  },
  unknown: { text: 'The partner may be added.', href: '/operator/partners', link: 'Partners' },
}

function addBody(values: Values): JsonObject {
  const [url, label] = [textOf(values, 'url'), textOf(values, 'label')]
  if (!/^https?:\/\/\S+$/.test(url)) throw new Error('Give the address, for example https://na.fjord-bank.example.')
  if (url.startsWith('http:') && values['allow_http'] !== 'yes')
    throw new Error('The address is plain http. Use https, or choose http under Transport.')
  const interval = Number(values['interval_seconds'])
  if (!Number.isInteger(interval) || interval < 60 || interval > 86_400)
    throw new Error('Time between two pulls: 60 to 86400 seconds.')
  return {
    url,
    ...(isByKey(values)
      ? { authority_public_keys: keysOf(values['keys']) }
      : { root_public_key: givenRootKey(values['given'], values['genesis']) }),
    import_feeds: values['import_feeds'] === 'on' ? 'on' : 'off',
    interval_seconds: interval,
    ...(label === '' ? {} : { label }),
    ...(url.startsWith('http:') ? { allow_http: true } : {}),
  }
}
