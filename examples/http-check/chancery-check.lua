-- Asks the HTTP check of a gateway about each request. Everything but the status 200 with a node is a refusal.
local CHECK = 'http://127.0.0.1:8081/check'
local TIMEOUT_MS = 5000

-- These belong to the connection of the client, and method and target are set below.
local OWN = {
  ['host'] = true,
  ['connection'] = true,
  ['content-length'] = true,
  ['transfer-encoding'] = true,
  ['expect'] = true,
  ['upgrade'] = true,
  ['te'] = true,
  ['x-original-method'] = true,
  ['x-original-uri'] = true,
  ['x-original-length'] = true,
}

local RESULTS = { 'node', 'network', 'roles', 'node-key', 'decision', 'body-digest' }

-- The check refuses a request when it does not know whether there is a body. HTTP/2 needs no length for one.
local function length(txn)
  local unmeasured = txn.f:req_ver() == '2.0' and '' or '0'
  return txn.f:req_hdr('content-length') or txn.f:req_hdr('transfer-encoding') or unmeasured
end

local function ask(txn)
  local headers = {
    ['x-original-method'] = { txn.f:method() },
    ['x-original-uri'] = { txn.f:url() },
    ['x-original-length'] = { length(txn) },
  }
  for name, values in pairs(txn.http:req_get_headers()) do
    if not OWN[name] then
      local all = {}
      for _, value in pairs(values) do all[#all + 1] = value end
      headers[name] = all
    end
  end
  return core.httpclient():get{ url = CHECK, headers = headers, timeout = TIMEOUT_MS }
end

core.register_action('chancery-check', { 'http-req' }, function(txn)
  txn:set_var('txn.chancery_status', '503')
  local asked, answer = pcall(ask, txn)
  if not asked or answer == nil or answer.status == nil or answer.status == 0 then return end
  txn:set_var('txn.chancery_status', tostring(answer.status))
  for _, name in ipairs(RESULTS) do
    local values = answer.headers and answer.headers['chancery-' .. name]
    txn:set_var('txn.chancery_' .. name:gsub('-', '_'), values and values[0] or '')
  end
  -- Another program on the port of the check may answer 200. Only the gateway names the node.
  if answer.status == 200 and (txn:get_var('txn.chancery_node') or '') == '' then
    txn:set_var('txn.chancery_status', '403')
  end
end, 0)
