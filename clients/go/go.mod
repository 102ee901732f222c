module hush.example/client

go 1.19
