/**
 * Adds the decision point to the policy file of a gateway. Give the folder of `chancery gateway init`, the address of the
 * gateway, the key file of its operator, and the attestation files of alice and bob.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'

const [folder = 'gateway', address = 'http://127.0.0.1:8445', key = 'decisions.key', ...members] = process.argv.slice(2)
const file = resolve(folder, 'policy.json')
const policy = JSON.parse(await readFile(file, 'utf8'))

const subjects: Record<string, string> = {}
for (const member of members) {
  const { subject_id, attestation_id } = JSON.parse(await readFile(member, 'utf8'))
  subjects[`user:${subject_id}`] = attestation_id
}

policy.decision_point_url = address
for (const network of Object.values<Record<string, unknown>>(policy.networks))
  network['decisions'] = { key_file: resolve(key), subjects, capability_prefixes: { record: 'record.' } }
for (const client of policy.clients) client.decisions = true

// Replaced in one step: the gateway never reads half a file.
await writeFile(`${file}.new`, `${JSON.stringify(policy, null, 2)}\n`, { mode: 0o600 })
await rename(`${file}.new`, file)
console.log(`${Object.keys(subjects).join(', ')} can be asked for at ${address}`)
